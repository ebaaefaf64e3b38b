// SPDX-License-Identifier: Apache-2.0
// One outcome for every launch: the counters, and the moves that end a launch.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/record_stack.hpp"
#include "hostlaunch/stats.hpp"

namespace hostlaunch::core {

// Exact while nothing moves. `accepted` is not counted but found: all that have ended, and what a
// walk of the pool finds pending and running. Ended ones are read first, so one that ends meanwhile
// may be missed but none is counted twice, and the highest number told so far is told at least: it
// is never too high and never goes back. No lock.
launch_stats read_stats() noexcept;

// Launches accepted and not ended. Walks the pool: may be off while they move.
std::uint64_t outstanding() noexcept;

// True if a launch is pending or running, or has ended with a payload that is the housekeeper's to
// release. Walks the pool until it finds one. A launch that was pending when this began is found in
// whichever of these states it is, until it is over; one that becomes pending later may be missed.
bool any_outstanding() noexcept;

namespace detail {
// On cache lines of their own by who writes them.
struct counters {
    alignas(64) std::atomic<std::uint64_t> ran{0};  // driver threads
    std::atomic<std::uint64_t> raised{0};
    alignas(64) std::atomic<std::uint64_t> abandoned{0};  // housekeeper and exit
    std::atomic<std::uint64_t> dropped{0};
    alignas(64) std::atomic<std::uint64_t> graph_ran{0};  // driver threads
    std::atomic<std::uint64_t> graph_raised{0};
};
inline constinit counters count;
}  // namespace detail

// Ends a running record with `outcome` (ran or raised) and pushes it for release; the caller must
// not touch it afterwards. False if exit has given it up meanwhile: then its payload is left alone.
bool finish(record& r, state outcome) noexcept;

// As finish for a payload that needs no destruction: gives the record back at once.
bool finish_in_place_slowly(record& r, state outcome) noexcept;
inline bool finish_in_place(record& r, state outcome) noexcept {
    const auto count = [outcome]() noexcept {
        (outcome == state::ran ? detail::count.ran : detail::count.raised)
            .fetch_add(1, std::memory_order_relaxed);
    };
    return record_pool::instance().recycle_running(r, count) || finish_in_place_slowly(r, outcome);
}

// Ends an as-is record: ran (pushed for release) or abandoned (kept).
void finish_as_is(record& r, state outcome) noexcept;

// Moves the pending launches of a failed context to abandoned; gated ones are pushed for release.
void abandon_pending(abi::context failed) noexcept;

// At exit: gated launches that have not started are dropped and pushed for release, running ones
// and as-is ones are dropped and kept. Returns how many were dropped.
std::uint64_t drop_all() noexcept;

// How many launches of as-is code that may be Python in disguise have not ended. Walks the pool.
std::uint64_t unknown_code_pending() noexcept;

// Drops one launch that was accepted after exit had begun.
void drop_late(record& r, std::uint64_t generation) noexcept;

// Ended records whose payload may be released now.
record_stack& to_release() noexcept;

// Asks the language surface to drain to_release() soon. The surface sets the hook once; it returns
// false if it cannot be asked now, and the housekeeper then asks again. Any thread.
void set_release_hook(bool (*hook)() noexcept) noexcept;
void request_release() noexcept;

// Destroys ended payloads and deferred driver objects on the calling thread if no surface has set a
// hook (C++ alone). Returns true if there were any. Runs destructors of users: call without locks,
// never on a driver thread.
bool release_in_background() noexcept;

// True if release_in_background has something to do.
bool background_release_wanted() noexcept;

// True once a request failed; cleared by the call.
bool take_release_retry() noexcept;
bool release_retry_wanted() noexcept;

// For the child of a fork.
void forget_outcomes() noexcept;

}  // namespace hostlaunch::core
