// SPDX-License-Identifier: Apache-2.0
// The embedded driver's state, and the engine that moves work through the streams.
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

#include "embedded/handles.hpp"
#include "embedded/objects.hpp"
#include "embedded/thread.hpp"

namespace hostlaunch::embedded {

using lock = std::unique_lock<std::mutex>;
using steady_time = std::chrono::steady_clock::time_point;

struct device_state {
    context_state* primary = nullptr;  // null while nobody retains it, and after a reset
    int retained = 0;
};

struct driver {
    std::mutex mutex;
    handle_table handles;
    std::vector<device_state> devices;  // filled once, by cuInit
    std::vector<context_state*> contexts;
    std::map<std::uintptr_t, allocation> memory;  // by first address
    std::vector<capture_state*> captures;
    std::uint64_t next_id = 1;  // of streams, contexts and captures

    std::atomic<int> sticky{success};  // written under the mutex
    std::atomic<bool> exiting{false};  // from then on no host function is started

    // Streams whose head may have become ready.
    stream_state* runnable_head = nullptr;
    stream_state* runnable_tail = nullptr;
    // Streams whose head waits on a value, and the thread that looks at them.
    stream_state* polling = nullptr;
    bool poller_started = false;
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
    int thread_mode = 0;
    int launch_mode = 0;
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

// --- engine.cpp: requires the mutex for every function -----------------------------------------

// Appends `what` to the stream and runs what became ready. The mutex may be released and retaken.
// Throws std::bad_alloc before anything has changed.
void push(lock& held, stream_state& s, const work& what);

// Appends a barrier that waits for the event's last record; nothing if that is complete.
void push_event_wait(lock& held, stream_state& s, event_state& e);

// Records the event in the stream: everything before it, nothing after it.
void push_record(lock& held, stream_state& s, event_state& e);

// The same in steps, for several operations that stand together. First room for all, which throws
// before anything has changed; then what the default-stream rule asks for; then `append_*` for
// each; then `drain`.
void reserve_operations(const stream_state& s, std::size_t count, std::size_t marks);
void begin_append(stream_state& s);
void append_work(stream_state& s, const work& what);
void append_barrier(stream_state& s, mark_list& marks, std::uint64_t target);  // takes a mark
void append_event_wait(stream_state& s, event_state& e);                       // takes a mark
void append_record(stream_state& s, event_state& e);

// A launch of an executable has completed (execs.cpp).
void complete_launch(const work::launch_work& w);

// "Its head may have become ready"; `drain` then runs whatever is.
void schedule(stream_state& s);
void drain(lock& held);

// The head has completed: takes it off the queue and releases whoever waited for it.
void finish_head(stream_state& s);

// Whether all work of the stream is complete; for the legacy stream also the work of all blocking
// streams.
bool is_complete(const stream_state& s);

// Frees a destroyed stream that has become idle. The object may be gone afterwards.
void retire_if_done(stream_state& s);

// From now on nothing new starts and every wait ends.
void make_sticky(lock& held, result error);

// --- waits.cpp: requires the mutex, which they release while they wait --------------------------

// Makes room for `count` calls of `add_mark` that do not throw.
void reserve_marks(std::size_t count);

// Counts `waiting` up; reaching `target` counts it down again.
void add_mark(mark_list& marks, std::uint64_t target, gate& waiting);
// requires: the targets in the list never decrease
void reach_marks(mark_list& marks, std::uint64_t completed);
void reach_event_marks(event_state& e, std::uint64_t record);

// Block until what is enqueued now has completed. Return the sticky error if there is one.
result wait_for_stream(lock& held, stream_state& s);
result wait_for_context(lock& held, context_state& ctx);
// Whether a stream has work enqueued, or under way, that copies, fills or writes those bytes.
bool uses_memory(const stream_state& s, std::uintptr_t first, std::size_t bytes);
// For the context and for what copies, fills or writes those bytes from other contexts.
result wait_for_users(lock& held, context_state& ctx, std::uintptr_t first, std::size_t bytes);
result wait_for_event(lock& held, event_state& e);

// The same, but stays in spite of a sticky error. The context may be gone afterwards.
void wait_for_work(lock& held, const context_state& ctx);

// Blocks until nothing is queued or running anywhere, destructors included. False once the deadline
// has passed.
bool wait_for_everything(lock& held, steady_time deadline);

// --- executor.cpp: requires the mutex
// -------------------------------------------------------------

// False if the thread cannot be started.
bool ensure_executor(context_state& ctx);
// The stream's head is a host function that is ready to run.
void offer(stream_state& s);
// Takes back every offered stream that has not started.
void take_back_offers();
void stop_executor(executor* e);
// More host functions may start now.
void wake_executors();
// Starts a detached thread with all signals blocked; 0 bytes: the default stack.
bool start_thread(void* (*body)(void*), void* argument, std::size_t stack_bytes);

// --- poller.cpp: requires the mutex
// ---------------------------------------------------------------

bool value_is_reached(const work::value_work& w);
void store_value(const work::value_work& w);
// False if the thread cannot be started.
bool ensure_poller();
// The stream's head is a wait that is not fulfilled. requires: ensure_poller returned true
void start_polling(stream_state& s);
void stop_polling(stream_state& s);

}  // namespace hostlaunch::embedded
