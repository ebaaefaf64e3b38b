// SPDX-License-Identifier: Apache-2.0
// Appends work to the streams and moves it through them. requires the mutex for every function.
#pragma once

#include "embedded/engine/driver.hpp"

namespace hostlaunch::embedded {

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
void append_values(stream_state& s, const value_params* values, std::size_t count);
void append_barrier(stream_state& s, mark_list& marks, std::uint64_t target);  // takes a mark
void append_event_wait(stream_state& s, event_state& e);                       // takes a mark
void append_record(stream_state& s, event_state& e);

// What other parts do when their operation's turn has come: execs.cpp, pools.cpp.
void complete_launch(const work::launch_work& w);
void complete_free(const work::give_back_work& w);

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

}  // namespace hostlaunch::embedded
