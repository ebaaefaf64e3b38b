// SPDX-License-Identifier: Apache-2.0
// Marks on streams and events, and the threads that block until theirs are reached.
//
// requires the mutex for every function; those that wait release it meanwhile.
#pragma once

#include "embedded/engine/driver.hpp"

namespace hostlaunch::embedded {

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

}  // namespace hostlaunch::embedded
