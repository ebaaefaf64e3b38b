// SPDX-License-Identifier: Apache-2.0
// The C++ library on the embedded driver: what its tests share.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "contract/library_case.hpp"
#include "embedded/control.hpp"
#include "embedded/entry_points.hpp"

namespace hostlaunch::test {

// For cases that need the embedded driver's knobs, which are reset at the end.
class on_embedded : public on_any_driver {
  protected:
    void SetUp() override {
        ASSERT_EQ(hostlaunch::driver().name, "embedded");
        on_any_driver::SetUp();
    }
    void TearDown() override {
        hostlaunch_embedded_reset();
        on_any_driver::TearDown();
    }
};
using on_a_stream = with_a_stream<on_embedded>;

// The arguments of the newest call of cuLaunchHostFunc in the driver's log.
struct logged_launch {
    std::uint64_t fn = 0;
    std::uint64_t user_data = 0;
};
inline logged_launch newest_launch() {
    logged_launch newest;
    hostlaunch_embedded_call call{};
    for (int i = 0; hostlaunch_embedded_log_get(i, &call) == 0; ++i) {
        if (std::string(call.entry) == "cuLaunchHostFunc") newest = {call.args[1], call.args[2]};
    }
    return newest;
}

}  // namespace hostlaunch::test
