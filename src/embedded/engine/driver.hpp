// SPDX-License-Identifier: Apache-2.0
// The embedded driver's state.
//
// One mutex guards everything. It is never held while a host function, an entry check or a large
// copy runs. The state is never destroyed: threads may be in here until the process is gone.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "embedded/engine/handles.hpp"
#include "embedded/engine/objects.hpp"

namespace hostlaunch::embedded {

using lock = std::unique_lock<std::mutex>;
using steady_time = std::chrono::steady_clock::time_point;

// Which threads run host functions, and how launches of them return: control.hpp has the words.
enum thread_mode : int { threads_per_context, threads_per_stream, threads_fresh };
enum launch_mode : int {
    launch_queues,
    launch_waits_running,
    launch_waits_done,
    launch_bounded,
};

struct device_state {
    context_state* primary = nullptr;  // null while nobody retains it, and after a reset
    int retained = 0;
    unsigned flags = 0;  // of the primary context, now or when it is made
    amount graph_memory_used;
    amount graph_memory_reserved;
};

// The pool that a place has from the start, and the one that is in force there.
struct place_pools {
    memory_location location;
    int allocation_type;
    memory_pool_state* own;
    memory_pool_state* current;
};

struct driver {
    std::mutex mutex;
    handle_table handles;
    std::vector<device_state> devices;  // filled once, by cuInit
    std::vector<context_state*> contexts;
    std::map<std::uintptr_t, allocation> memory;  // by first address
    std::vector<place_pools> places;              // of the places that were asked for
    std::vector<memory_pool_state*> pools;        // all of them
    std::vector<capture_state*> captures;
    std::uint64_t next_id = 1;  // of all that is told apart by a number

    std::atomic<int> sticky{success};  // written under the mutex
    std::atomic<bool> exiting{false};  // from then on no host function is started

    // Streams whose head may have become ready.
    stream_state* runnable_head = nullptr;
    stream_state* runnable_tail = nullptr;
    // Streams whose head waits on a value, and the thread that looks at them.
    stream_state* polling = nullptr;
    bool poller_started = false;
    bool pools_have_spare = false;  // since the last synchronisation
    std::condition_variable poller_wakes;

    // Free lists: nothing shrinks, so memory follows the peak.
    operation* free_operations = nullptr;
    std::size_t free_operation_count = 0;
    mark* free_marks = nullptr;
    std::size_t free_mark_count = 0;
    thread_gate* free_gates = nullptr;
    thread_gate* waiting_threads = nullptr;

    std::int64_t queued = 0;   // operations in all streams, running ones included
    std::int64_t pending = 0;  // host functions that have not started
    std::int64_t running = 0;  // host functions that run now
    std::uint64_t ended = 0;   // host functions that have run since load

    // User objects that no call ends, and the thread that calls their destructors.
    object_list dying;
    bool destroyer_started = false;
    std::condition_variable destroyer_wakes;
    std::int64_t user_objects = 0;      // whose destructor has not returned
    std::uint64_t destructors_run = 0;  // since load
    std::int64_t execs = 0;             // destroyed ones with launches in flight included

    // Knobs of control.hpp that steer the engine.
    int thread_mode = threads_per_context;
    int launch_mode = launch_queues;
    int launch_depth = 0;
    bool manual = false;
    int steps = 0;  // host functions that may still start while `manual`
    // Wakes whoever waits for a host function to start or to end, for a destructor to end, or for a
    // knob to be turned: launches that wait, `step`, and `wait_idle`.
    std::condition_variable progress;
    int progress_waiters = 0;
};

// The one instance.
driver& the_driver();

}  // namespace hostlaunch::embedded
