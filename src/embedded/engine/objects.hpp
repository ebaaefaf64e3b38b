// SPDX-License-Identifier: Apache-2.0
// What the embedded driver is made of: operations, streams, events, contexts, captures.
//
// Everything here is guarded by driver::mutex (driver.hpp) unless a member says otherwise. Work is
// executed by whichever thread makes it ready; only host functions have threads of their own.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "embedded/engine/work.hpp"

namespace hostlaunch::embedded {

struct capture_state;
struct context_state;
struct executor;
struct graph_memory;
struct graph_state;
struct memory_pool_state;
struct node_state;
struct stream_state;
struct user_object_state;

// Something that waits for `outstanding` marks: an operation of `owner`, or else a thread.
struct gate {
    int outstanding = 0;
    stream_state* owner = nullptr;
};

// A thread that waits. On a sticky error it leaves before its marks are reached: `abandoned` then
// hands the gate over to whoever reaches the last one.
struct thread_gate : gate {
    std::condition_variable wakes;
    thread_gate* previous = nullptr;
    thread_gate* next = nullptr;
    bool abandoned = false;
};

// "When `target` is reached, count down `waiting`": for a stream the number of operations that
// have completed, for an event the number of the record.
struct mark {
    mark* next;
    std::uint64_t target;
    gate* waiting;
};

struct mark_list {
    mark* head = nullptr;
    mark* tail = nullptr;
};

struct operation {
    operation* next;
    work what;
    gate join;  // for barriers
};

// One capture, from begin to end; `members` are the streams that are part of it.
struct capture_state {
    std::uint64_t id = 0;
    capture_mode mode = capture_mode::global;
    std::uint64_t thread = 0;  // the id of the thread that began it
    bool invalid = false;
    stream_state* origin = nullptr;
    graph_state* built = nullptr;
    bool into_callers = false;  // the graph was the caller's before, and stays so
    std::vector<stream_state*> members;
    std::vector<node_state*> dropped;  // dependencies that the user took from a stream
    std::vector<node_state*> left;     // what members that are gone recorded last
};

// One FIFO. The operation at the head stays there until it has completed.
// Life: registered -> destroyed (handle gone, work still runs) -> retired (queue empty, freed).
struct stream_state {
    stream handle = nullptr;
    context_state* ctx = nullptr;
    unsigned flags = 0;
    int priority = 0;
    int wait_policy = 1;  // CU_SYNC_POLICY_AUTO: how a thread waits, which is all one here
    std::uint64_t id = 0;
    bool is_legacy = false;
    bool destroyed = false;

    operation* head = nullptr;
    operation* tail = nullptr;
    std::uint64_t enqueued = 0;
    std::uint64_t completed = 0;
    mark_list marks;

    bool busy = false;      // a thread executes the head with the mutex released
    bool offered = false;   // the head is a host function in an executor's hands
    bool runnable = false;  // in driver::runnable
    bool polling = false;   // in driver::polling
    stream_state* next_runnable = nullptr;
    stream_state* next_ready = nullptr;
    stream_state* next_polling = nullptr;
    executor* own = nullptr;  // its executor when each stream has one

    std::uint64_t waits_for_legacy = 0;  // the legacy operation that is already waited for
    std::uint64_t legacy_waits_for = 0;  // the operation here that the legacy one waits for

    capture_state* capture = nullptr;
    std::vector<node_state*> tips;  // what the next captured node depends on
    // The arrays that cuStreamGetCaptureInfo hands out, valid until its next call.
    std::vector<graph_node> tips_shown;
    std::vector<edge_data> edges_shown;

    bool is_blocking() const { return !is_legacy && (flags & stream_non_blocking) == 0; }
    bool idle() const { return head == nullptr; }
};

// An event is complete if its last record is; one that was never recorded is complete.
struct event_state {
    event handle = nullptr;
    context_state* ctx = nullptr;
    std::size_t place = 0;  // in ctx->events
    unsigned flags = 0;
    bool destroyed = false;
    bool done = true;
    std::uint64_t last_record = 0;
    int pending_records = 0;  // operations that point here; the last one frees a destroyed event
    std::int64_t nanoseconds = 0;
    mark_list marks;
    std::uint64_t capture_id = 0;  // the capture that it was last recorded in, or 0
    std::vector<node_state*> capture_tips;
};

// The thread that runs the host functions of one context (or stream), in order of readiness.
struct executor {
    std::condition_variable wakes;
    stream_state* ready_head = nullptr;
    stream_state* ready_tail = nullptr;
    bool sleeping = false;
    bool stopping = false;
};

// User objects whose destructor is due, in the order in which their last references went.
struct object_list {
    user_object_state* head = nullptr;
    user_object_state* tail = nullptr;
};

// Bytes, and the most that there have been.
struct amount {
    std::uint64_t now = 0;
    std::uint64_t high = 0;

    void add(std::uint64_t bytes) {
        now += bytes;
        high = now > high ? now : high;
    }
};

enum class memory_kind : std::uint8_t { device, host, managed, registered, pooled, of_graph };

// Memory that calls may name, from its first address on.
struct allocation {
    std::size_t bytes;
    memory_kind kind;
    bool on_host;        // the host's by right: pinned, registered, of a pool of the host
    unsigned flags;      // as its call was given
    context_state* ctx;  // null where it outlives contexts: pooled, of a graph
    device dev;          // where it lies, or whose context made it
    std::uint64_t id;    // never used again
    pool_block* block;   // if pooled
    graph_memory* of_graph;
};

inline constexpr int context_limits = 10;  // CU_LIMIT_MAX

struct context_state {
    context handle = nullptr;
    device dev = 0;
    unsigned flags = 0;
    std::uint64_t id = 0;
    bool is_primary = false;
    stream_state* legacy = nullptr;
    std::vector<stream_state*> streams;  // all of them: legacy, per-thread, destroyed with work
    std::vector<event_state*> events;
    executor* runs = nullptr;  // null until the first host function
    std::array<std::size_t, context_limits> limits{1024, std::size_t{1} << 20,
                                                   std::size_t{8} << 20};
    std::vector<std::uint64_t> peers;  // ids of contexts whose memory it was given access to
    int running = 0;                   // host functions that run now
    int pending = 0;                   // host functions that have not started
};

}  // namespace hostlaunch::embedded
