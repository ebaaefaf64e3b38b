// SPDX-License-Identifier: Apache-2.0
// What the embedded driver keeps for each thread that calls it, and how it starts its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "embedded/abi.hpp"

namespace hostlaunch::embedded {

struct stream_state;

// Touched by its own thread only, but for the first two members. Never freed: the state of a thread
// that has ended goes to the next new thread, and all are reachable, also in a forked child.
struct thread_state {
    thread_state* next = nullptr;  // set before the state is published
    std::atomic<bool> used{true};  // who turns it from false to true owns the state
    std::vector<context> current;  // the stack of contexts; the last one is current
    capture_mode mode = capture_mode::global;
    // The thread's own default stream in each context that it used one in.
    std::vector<std::pair<context, stream_state*>> own_streams;
};

// The calling thread's state, taken on first use and given back when the thread ends.
thread_state& this_thread();

// gettid: equal for equal threads, and never 0.
std::uint64_t thread_id();

// Whether the calling thread runs a host function (of either kind) or a destructor right now.
bool inside_host_function();
void set_inside_host_function(bool inside);

// Starts a detached thread of the driver's; 0 bytes: the default stack. False if it cannot be
// started. Signals are the program's own threads' to handle, so all are blocked here but those that
// tell of a crash: a crash in a user's function is reported as on any thread.
bool start_thread(void* (*body)(void*), void* argument, std::size_t stack_bytes);

}  // namespace hostlaunch::embedded
