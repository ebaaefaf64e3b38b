// SPDX-License-Identifier: Apache-2.0
// Processes that end while submitted functions are pending or running.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "surface/fixture.hpp"
#include "surface/process_cases.hpp"

// After the fixture, whose headers of the driver know no other stream than their own.
#include "hostlaunch/future.hpp"

namespace hostlaunch::test {
namespace {

void say(const char* what) {
    if (write(STDOUT_FILENO, what, std::strlen(what)) < 0) _exit(99);
}

void work_a_moment() {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
}

int return_with_submitted_functions_pending() {
    static stream& s = *new stream;
    host_launch(s, [] { work_a_moment(); });
    static auto& futures = *new std::vector<std::future<void>>;
    for (int i = 0; i < 100; ++i)
        futures.push_back(submit(s, [] { say("ran "); }));
    return 3;
}

int return_with_a_submitted_function_running() {
    static stream& s = *new stream;
    static std::atomic<bool> running{false};
    static auto& future = *new std::future<void>(submit(s, [] {
        running = true;
        work_a_moment();
        say("ran ");
    }));
    (void)future;
    if (!eventually([] { return running.load(); })) return 1;
    return 3;
}

int exit_inside_a_submitted_function() {
    static stream& s = *new stream;
    static auto& future = *new std::future<void>(submit(s, [] { std::exit(5); }));
    future.wait_for(patience);
    return 1;
}

}  // namespace

const process_case future_cases[] = {
    {"return_with_submitted_functions_pending", &return_with_submitted_functions_pending},
    {"return_with_a_submitted_function_running", &return_with_a_submitted_function_running},
    {"exit_inside_a_submitted_function", &exit_inside_a_submitted_function},
    {nullptr, nullptr},
};

}  // namespace hostlaunch::test
