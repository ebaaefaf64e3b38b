// SPDX-License-Identifier: Apache-2.0
// A program that ends its process in the way that its argument names; the test looks at its exit
// code.
//
// Functions say what they did with `say`, on stdout. What they refer to is never destroyed, unless
// its destruction is what the case is about.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "driver/abi.hpp"
#include "embedded/control.hpp"
#include "hostlaunch/hostlaunch.hpp"
#include "support/lasting.hpp"
#include "support/waiting.hpp"
#include "surface/process_cases.hpp"

namespace hostlaunch::test {
namespace {

using std::chrono::milliseconds;

void nap(int ms) {
    std::this_thread::sleep_for(milliseconds(ms));
}

void say(const char* what) {
    if (write(STDOUT_FILENO, what, std::strlen(what)) < 0) _exit(99);
}

struct says_when_destroyed {
    bool mine = true;
    says_when_destroyed() = default;
    says_when_destroyed(says_when_destroyed&& other) noexcept
        : mine(std::exchange(other.mine, false)) {}
    ~says_when_destroyed() {
        if (mine) say("destroyed ");
    }
    void operator()() const { say("ran "); }
};

int return_with_functions_pending() {
    stream& s = lasting<stream>();
    hostlaunch_embedded_set_manual(1);
    for (int i = 0; i < 100; ++i)
        host_launch(s, [] { say("ran "); });
    return 3;
}

int return_with_callables_pending() {
    stream& s = lasting<stream>();
    hostlaunch_embedded_set_manual(1);
    for (int i = 0; i < 10; ++i)
        host_launch(s, says_when_destroyed());
    return 3;
}

int return_with_a_function_running() {
    stream& s = lasting<stream>();
    auto& first = lasting<blocker>();
    host_launch(s, [] {
        say("began ");
        nap(300);
        say("ended ");
    });
    host_launch(s, [] { say("ran "); });
    host_launch(s, std::ref(first));
    while (stats().running == 0)
        nap(1);
    return 3;
}

int return_with_an_endless_function() {
    stream& s = lasting<stream>();
    std::atomic<bool>& began = lasting<std::atomic<bool>>(false);
    host_launch(s, [&began] {
        began = true;
        for (;;)
            pause();
    });
    host_launch(s, [] { say("ran "); });
    while (!began)
        nap(1);
    return 3;
}

// A launching thread waits inside the driver for room in its queue.
int return_with_a_launch_blocked() {
    stream& s = lasting<stream>();
    hostlaunch_embedded_set_manual(1);
    hostlaunch_embedded_set_launch(hostlaunch_embedded_launch_bounded, 1);
    host_launch(s, [] { say("ran "); });
    const std::uint64_t calls = hostlaunch_embedded_calls("cuLaunchHostFunc");
    std::thread([&s] {
        try {
            host_launch(s, says_when_destroyed());
        } catch (const error&) {
            for (;;)
                pause();
        }
    }).detach();
    while (hostlaunch_embedded_calls("cuLaunchHostFunc") == calls)
        nap(1);
    return 3;
}

// The stream's destructor runs at the end of main's scope, with work pending.
int return_through_destructors() {
    stream s;
    stream other;
    event e = s.record();
    for (int i = 0; i < 50; ++i) {
        host_launch(s, [] { nap(1); });
        host_launch(other, [] { nap(1); });
    }
    return 3;
}

// Main waits in the driver meanwhile, or is told that the process exits.
int exit_inside_a_callable() {
    stream& s = lasting<stream>();
    host_launch(s, [] { std::exit(5); });
    try {
        s.sync();
    } catch (const error& e) {
        if (e.code() != static_cast<int>(misuse::exiting)) say("another error ");
    }
    nap(60'000);
    return 9;
}

int exit_inside_a_borrowed_callable() {
    stream& s = lasting<stream>();
    auto exits = [] { std::exit(5); };
    host_launch(s, std::ref(exits));
    nap(60'000);
    return 9;
}

int exit_inside_an_as_is_function() {
    stream& s = lasting<stream>();
    host_launch(s, +[](void*) { std::exit(5); }, nullptr);
    nap(60'000);
    return 9;
}

int exit_inside_a_callable_with_others_pending() {
    static std::optional<stream> s;
    auto& first = lasting<blocker>();
    s.emplace();
    host_launch(*s, std::ref(first));
    host_launch(*s, [] { std::exit(5); });
    for (int i = 0; i < 100; ++i)
        host_launch(*s, says_when_destroyed());
    first.let_go();
    nap(60'000);
    return 9;
}

int exit_inside_the_destructor_of_a_callable() {
    struct exits_at_its_end {
        bool mine = true;
        exits_at_its_end() = default;
        exits_at_its_end(exits_at_its_end&& o) noexcept : mine(std::exchange(o.mine, false)) {}
        ~exits_at_its_end() {
            if (mine) std::exit(5);
        }
        void operator()() const {}
    };
    stream& s = lasting<stream>();
    host_launch(s, exits_at_its_end());
    nap(60'000);
    return 9;
}

int exit_while_threads_launch() {
    stream& s = lasting<stream>();
    for (int t = 0; t < 3; ++t) {
        std::thread([&s] {
            try {
                for (;;)
                    host_launch(s, [p = std::make_unique<int>(1)] { (void)*p; });
            } catch (const error& e) {
                // A call that was past our check is refused by the driver itself.
                const bool exits = e.code() == static_cast<int>(misuse::exiting) ||
                                   e.code() == abi::error_deinitialized;
                if (!exits) say((std::string("another error ") + e.what()).c_str());
                for (;;)
                    pause();
            }
        }).detach();
    }
    nap(50);
    std::exit(3);
}

int exit_while_functions_throw() {
    stream& s = lasting<stream>();
    set_unhandled_exception_handler([](std::exception_ptr) noexcept {});
    for (int i = 0; i < 2000; ++i)
        host_launch(s, [] { throw 1; });
    return 3;
}

int quick_exit_with_functions_pending_and_running() {
    stream& s = lasting<stream>();
    auto& first = lasting<blocker>();
    host_launch(s, std::ref(first));
    first.wait_until_running();
    for (int i = 0; i < 10; ++i)
        host_launch(s, says_when_destroyed());
    std::quick_exit(4);
}

int underscore_exit_with_functions_running() {
    stream& s = lasting<stream>();
    auto& first = lasting<blocker>();
    host_launch(s, std::ref(first));
    first.wait_until_running();
    _exit(4);
}

int exit_from_a_thread_that_is_not_main() {
    stream& s = lasting<stream>();
    std::thread([&s] {
        for (int i = 0; i < 10; ++i)
            host_launch(s, [] { nap(5); });
        std::exit(6);
    }).detach();
    for (;;)
        pause();
}

int end_of_a_thread_that_owns_a_stream() {
    std::thread([] {
        thread_local stream s;
        host_launch(s, [] { say("ran "); });
    }).join();
    if (hostlaunch_embedded_live("streams") != 0) say("leaked ");
    if (hostlaunch_embedded_wait_idle(patience_ms) != 0) return 9;
    return 3;
}

int end_of_main_with_a_stream_of_its_thread() {
    thread_local stream s;
    host_launch(s, [] { nap(20); });
    return 3;
}

// What a handler that runs after the library's own may see: `dropped` for what never ran.
int counts_after_exit_began() {
    std::atexit([] {
        const launch_stats s = stats();
        if (s.accepted != 8 || s.pending != 0 || s.dropped != 8) say("counts are wrong ");
        try {
            static stream late;
            say("a stream was made ");
        } catch (const error& e) {
            say(e.code() == static_cast<int>(misuse::exiting) ? "refused " : "another error ");
        }
    });
    stream& s = lasting<stream>();
    hostlaunch_embedded_set_manual(1);
    for (int i = 0; i < 8; ++i)
        host_launch(s, [] {});
    return 3;
}

}  // namespace

const process_case exit_cases[] = {
    {"return_with_functions_pending", &return_with_functions_pending},
    {"return_with_callables_pending", &return_with_callables_pending},
    {"return_with_a_function_running", &return_with_a_function_running},
    {"return_with_an_endless_function", &return_with_an_endless_function},
    {"return_with_a_launch_blocked", &return_with_a_launch_blocked},
    {"return_through_destructors", &return_through_destructors},
    {"exit_inside_a_callable", &exit_inside_a_callable},
    {"exit_inside_a_borrowed_callable", &exit_inside_a_borrowed_callable},
    {"exit_inside_an_as_is_function", &exit_inside_an_as_is_function},
    {"exit_inside_a_callable_with_others_pending", &exit_inside_a_callable_with_others_pending},
    {"exit_inside_the_destructor_of_a_callable", &exit_inside_the_destructor_of_a_callable},
    {"exit_while_threads_launch", &exit_while_threads_launch},
    {"exit_while_functions_throw", &exit_while_functions_throw},
    {"quick_exit", &quick_exit_with_functions_pending_and_running},
    {"underscore_exit", &underscore_exit_with_functions_running},
    {"exit_from_another_thread", &exit_from_a_thread_that_is_not_main},
    {"thread_local_stream", &end_of_a_thread_that_owns_a_stream},
    {"thread_local_stream_of_main", &end_of_main_with_a_stream_of_its_thread},
    {"counts_after_exit_began", &counts_after_exit_began},
    {nullptr, nullptr},
};

}  // namespace hostlaunch::test

int main(int argc, char** argv) {
    using namespace hostlaunch::test;
    setenv("HOSTLAUNCH_DRIVER", "embedded", 1);
    if (argc != 2) return 2;
    for (const process_case* table :
         {exit_cases, static_cases, failure_cases, future_cases, graph_cases, plugin_cases}) {
        for (const process_case* c = table; c->name != nullptr; ++c) {
            if (std::strcmp(c->name, argv[1]) == 0) return c->run();
        }
    }
    std::fprintf(stderr, "there is no case %s\n", argv[1]);
    return 2;
}
