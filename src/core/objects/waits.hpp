// SPDX-License-Identifier: Apache-2.0
// Waits that end at a time, and waits that leave the processor to others.
//
// The driver has neither for a stream: an event is recorded behind its work, and asked after again
// and again with longer and longer naps, or waited for asleep if it was made for that. Call without
// the GIL and without locks.
#pragma once

#include <chrono>
#include <memory>

#include "core/objects/event.hpp"

namespace hostlaunch::core {

using wait_clock = std::chrono::steady_clock;

// `seconds` from now; at most some thirty years, so that no sum overflows.
wait_clock::time_point wait_deadline(std::chrono::duration<double> seconds) noexcept;

// True if HOSTLAUNCH_BLOCKING_SYNC=1: every wait leaves the processor to others. Read once.
bool blocking_by_default() noexcept;

// An event behind all work that the stream has now. A stream that captures is refused as
// sync_stream refuses it.
status record_end(stream_target target, std::unique_ptr<event>& out);

// Waits as sync_stream does, asleep.
status sync_stream_asleep(stream_target target);

// `disturbed`: a signal's handler has run on this thread, or may have run on another one.
enum class waited { done, late, disturbed };

// Waits for one piece of the time until the deadline, at most a quarter of a second. No signal is
// missed between two naps: they are blocked there.
status wait_a_while(event& e, wait_clock::time_point deadline, waited* how) noexcept;

// Waits until the event is done (true) or the deadline has come.
status wait_until(event& e, wait_clock::time_point deadline, bool* done) noexcept;

}  // namespace hostlaunch::core
