// SPDX-License-Identifier: Apache-2.0
// Runs a program, or the rest of this one, as a process of its own: for cases that may hang, crash
// or end the process.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace hostlaunch::test {

struct ended_program {
    bool timed_out = false;  // it was killed after the limit
    int signal = 0;          // what killed it, else 0
    int code = -1;           // its exit code if nothing killed it
    std::string out;
    std::string err;
    double seconds = 0;
};

// Runs `arguments` with the environment of this process and the given "NAME=value" settings; a name
// without '=' is removed from it. The first argument is the program's path.
ended_program run_program(const std::vector<std::string>& arguments,
                          const std::vector<std::string>& settings = {},
                          std::chrono::seconds limit = std::chrono::seconds(50));

// Everything about it, for messages of failed expectations.
std::string describe(const ended_program& p);

// Runs `body` in a forked child, which must not have failed any expectation. It has 60 seconds.
void in_forked_child(const std::function<void()>& body);

}  // namespace hostlaunch::test
