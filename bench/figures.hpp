// SPDX-License-Identifier: Apache-2.0
// The groups of figures. Each adds its own to the report.
#pragma once

#include <string>

#include "report.hpp"

namespace hostlaunch::bench {

// Enqueue and drain of each kind of launch, beside the bare calls.
void measure_launches(const settings& s, report& out);

// What each step of a launch adds to the bare calls. Only where the library is linked statically.
void measure_steps(const settings& s, report& out);

// Kernels and host functions in turns, on the GPU's clock.
void measure_timeline(const settings& s, report& out);

// Launch and wait, one at a time.
void measure_round_trips(const settings& s, report& out);

// Functions per second from several threads, each with its own stream.
void measure_threads(const settings& s, report& out);

// Allocations, memory per pending launch, growth. Each number comes from a process of its own.
void measure_memory(const settings& s, report& out);

// What such a process does: prints one number. Returns its exit status.
int run_memory_child(const std::string& what, const settings& s);

// Throws std::runtime_error unless a driver's result is 0.
void require(int result, const char* call);

}  // namespace hostlaunch::bench
