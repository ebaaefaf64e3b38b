// SPDX-License-Identifier: Apache-2.0
// Scenarios: what a case does to a whole process, done in a process of its own.
//
// The process that runs the cases never loads a driver. A case starts the same program again with
// `--scenario=NAME`, bounded in time, and looks at its exit code and its output. A scenario may use
// EXPECT: a failure makes the exit code 1.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "contract/waiting.hpp"

namespace hostlaunch::contract {

struct scenario {
    const char* name;
    int (*run)();  // the exit code
    scenario* next;

    scenario(const char* called, int (*body)());
    static int run_named(const std::string& wanted);
};

#define HOSTLAUNCH_SCENARIO(name)                                            \
    static int name();                                                       \
    static ::hostlaunch::contract::scenario registered_##name(#name, &name); \
    static int name()

// What became of a scenario's process.
struct ending {
    bool in_time = false;  // false: it hung, and was killed
    int exit_code = -1;    // -1: it died of a signal
    std::string output;    // stdout and stderr

    bool says(const std::string& text) const { return output.find(text) != std::string::npos; }
};

ending run_scenario(const std::string& name);

// The usual expectation: the scenario ends in time, and with this exit code.
void expect_scenario(const std::string& name, int exit_code = 0);

// For what is undefined on a real driver: says what came of it, and demands nothing.
void observe_scenario(const std::string& name);

// For scenarios: the exit code 1 if an expectation failed, else `code`.
int verdict(int code = 0);

// Writes a line to stdout, unbuffered; a host function that takes a string.
void say(const char* line);
void say_line(void* line);

// For scenarios, what a call gave that promises nothing: written to stdout.
void show_result(const char* what, result seen);

// For scenarios: a current primary context of device 0, and streams of it.
context use_primary_context(int device = 0);
stream create_stream(unsigned flags = stream_non_blocking);

// Holds a stream until the process ends; needs no host function.
void hold_by_value(stream s);

}  // namespace hostlaunch::contract
