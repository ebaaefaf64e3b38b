// SPDX-License-Identifier: Apache-2.0
// What the plugin of the tests offers, found by the name "hostlaunch_test_plugin".
#pragma once

#include <atomic>

#include "hostlaunch/export.hpp"
#include "hostlaunch/stream.hpp"

namespace hostlaunch::test {

struct plugin {
    // Three launches, of which nothing is left once they have run.
    void (*launch_trivial)(const stream& s, std::atomic<int>& counter);
    // One, whose callable has to be destroyed.
    void (*launch_owning)(const stream& s, std::atomic<int>& counter);
};
extern "C" HOSTLAUNCH_API const plugin hostlaunch_test_plugin;

}  // namespace hostlaunch::test
