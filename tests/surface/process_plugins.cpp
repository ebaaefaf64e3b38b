// SPDX-License-Identifier: Apache-2.0
// Callables of plugins that are closed, and processes that end quickly.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "support/lasting.hpp"
#include "surface/graph_fixture.hpp"
#include "surface/plugin.hpp"
#include "surface/process_cases.hpp"

namespace hostlaunch::test {
namespace {

int fail(const char* what) {
    std::fprintf(stderr, "not as it should be: %s\n", what);
    return 1;
}

bool is_loaded() {
    void* handle = dlopen(PLUGIN, RTLD_NOW | RTLD_NOLOAD);
    if (handle != nullptr) dlclose(handle);
    return handle != nullptr;
}

const plugin* open_plugin(void*& handle, int more) {
    handle = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL | more);
    return handle == nullptr ? nullptr
                             : static_cast<const plugin*>(dlsym(handle, "hostlaunch_test_plugin"));
}

// Its callables have run and need no destruction: nothing refers to its code any more.
int close_a_plugin_after_a_wait() {
    stream s;
    std::atomic<int> ran{0};
    for (int i = 0; i < 100; ++i) {
        void* handle = nullptr;
        const plugin* p = open_plugin(handle, 0);
        if (p == nullptr) return fail(dlerror());
        p->launch_trivial(s, ran);
        s.sync();
        dlclose(handle);
        if (is_loaded()) return fail("the plugin is still there");
    }
    if (ran != 300) return fail("the runs");
    return eventually(nothing_outstanding) ? 3 : fail("the counts");
}

// Its code stays, so that what is pending can run and be destroyed.
int close_a_plugin_that_stays_with_functions_pending() {
    stream s;
    std::atomic<int> ran{0};
    blocker& first = lasting<blocker>();
    host_launch(s, std::ref(first));
    void* handle = nullptr;
    const plugin* p = open_plugin(handle, RTLD_NODELETE);
    if (p == nullptr) return fail(dlerror());
    for (int i = 0; i < 100; ++i) {
        p->launch_trivial(s, ran);
        p->launch_owning(s, ran);
    }
    dlclose(handle);
    first.let_go();
    s.sync();
    if (ran != 400) return fail("the runs");
    return eventually(nothing_outstanding) ? 3 : fail("the release");
}

// All kinds of launches pending, one of compiled code running, a graph in flight.
int quick_exit_with_everything_pending() {
    stream& s = lasting<stream>();
    stream& captured = lasting<stream>();
    blocker& first = lasting<blocker>();
    graph_builder b(captured);
    b.begin_building();
    b.callback([] {});
    graph& g = lasting<graph>(b.end_building().complete());
    host_launch(s, &blocker::run, &first);
    first.wait_until_running();
    const std::array<std::byte, 16> bytes{};
    for (int i = 0; i < 10; ++i) {
        host_launch(s, [kept = std::make_unique<int>(1)] { (void)*kept; });
        host_launch(s, +[](void*) {}, bytes);
        g.launch(s);
    }
    std::quick_exit(4);
}

int quick_exit_inside_a_callable() {
    stream& s = lasting<stream>();
    host_launch(s, [] { std::quick_exit(5); });
    std::this_thread::sleep_for(std::chrono::seconds(60));
    return 9;
}

// A quick exit is none for the library: its handlers may launch and wait.
int quick_exit_whose_handler_launches() {
    static stream& s = lasting<stream>();
    static std::atomic<int>& ran = lasting<std::atomic<int>>(0);
    std::at_quick_exit([] {
        host_launch(s, [kept = std::make_unique<int>(1)] { ran += *kept; });
        s.sync();
        if (ran != 1) _exit(9);
    });
    std::quick_exit(4);
}

}  // namespace

const process_case plugin_cases[] = {
    {"close_a_plugin_after_a_wait", &close_a_plugin_after_a_wait},
    {"close_a_plugin_that_stays_with_functions_pending",
     &close_a_plugin_that_stays_with_functions_pending},
    {"quick_exit_with_everything_pending", &quick_exit_with_everything_pending},
    {"quick_exit_inside_a_callable", &quick_exit_inside_a_callable},
    {"quick_exit_whose_handler_launches", &quick_exit_whose_handler_launches},
    {nullptr, nullptr},
};

}  // namespace hostlaunch::test
