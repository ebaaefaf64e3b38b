// SPDX-License-Identifier: Apache-2.0
// A plugin: its callables are code that goes away when it is closed.
#include "surface/plugin.hpp"

#include <memory>

#include "hostlaunch/hostlaunch.hpp"

namespace hostlaunch::test {
namespace {

void count(void* counter) {
    ++*static_cast<std::atomic<int>*>(counter);
}

// Unnamed, so that the plugin alone has what is made of it: the system's loader unloads no library
// with a symbol that it has to keep unique.
struct counts {
    std::atomic<int>* counter;
    void operator()() const { ++*counter; }
};

struct borrowed_counts : counts {};

void launch_trivial(const stream& s, std::atomic<int>& counter) {
    static borrowed_counts borrowed;
    borrowed.counter = &counter;
    host_launch(s, counts{&counter});
    host_launch(s, std::ref(borrowed));
    host_launch(s, &count, &counter);
}

void launch_owning(const stream& s, std::atomic<int>& counter) {
    host_launch(s, [&counter, kept = std::make_unique<int>(1)] { counter += *kept; });
}

}  // namespace

extern "C" const plugin hostlaunch_test_plugin{&launch_trivial, &launch_owning};

}  // namespace hostlaunch::test
