// SPDX-License-Identifier: Apache-2.0
// What the embedded driver keeps for each thread that calls it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "embedded/entry_points.hpp"

namespace hostlaunch::embedded {

struct stream_state;

// Touched by its own thread only.
struct thread_state {
    std::vector<context> current;  // the stack of contexts; the last one is current
    capture_mode mode = capture_mode::global;
    // The thread's own default stream in each context that it used one in.
    std::vector<std::pair<context, stream_state*>> own_streams;
};

// The calling thread's state. Made on first use, freed when the thread ends (the main thread's
// lives as long as the process).
thread_state& this_thread();

// gettid: equal for equal threads, and never 0.
std::uint64_t thread_id();

// Whether the calling thread runs a host function (of either kind) right now.
bool inside_host_function();
void set_inside_host_function(bool inside);

}  // namespace hostlaunch::embedded
