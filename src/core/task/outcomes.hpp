// SPDX-License-Identifier: Apache-2.0
// One outcome for every task: the counters, and the moves that end one.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/task/pool_of_records.hpp"
#include "hostlaunch/stats.hpp"

namespace hostlaunch::core {

// Exact while nothing moves. `accepted` is not counted but found: all that have ended, and what a
// walk of the pool finds pending and running. Ended ones are read first, so one that ends meanwhile
// may be missed but none is counted twice, and the highest number told so far is told at least: it
// is never too high and never goes back. No lock.
launch_stats read_stats() noexcept;

// Launches accepted and not ended. Walks the pool: may be off while they move.
std::uint64_t outstanding() noexcept;

// True if a launch is pending or running, or `releases` and one has ended with a payload that
// awaits its release. Walks the pool until it finds one. A launch that was pending when this began
// is found in whichever of these states it is, until it is over; one that becomes pending later may
// be missed.
bool any_outstanding(bool releases) noexcept;

namespace detail {
// On cache lines of their own by who writes them.
struct counters {
    alignas(64) std::atomic<std::uint64_t> ran{0};  // the threads that run tasks
    std::atomic<std::uint64_t> raised{0};
    alignas(64) std::atomic<std::uint64_t> abandoned{0};  // monitor and exit
    std::atomic<std::uint64_t> dropped{0};
    std::atomic<std::uint64_t> cancelled{0};              // whoever cancels
    alignas(64) std::atomic<std::uint64_t> graph_ran{0};  // the threads that run tasks
    std::atomic<std::uint64_t> graph_raised{0};
};
inline constinit counters count;
}  // namespace detail

// The state of a task that has ended so. requires: not `told`.
inline state state_after(outcome how) noexcept {
    return static_cast<state>(static_cast<int>(state::ran) + static_cast<int>(how));
}
static_assert(static_cast<int>(state::cancelled) - static_cast<int>(state::ran) ==
              static_cast<int>(outcome::cancelled) - static_cast<int>(outcome::ran));

// Ends a running task: tells its completion, pushes it for release and asks for that; the caller
// must not touch it afterwards. False if exit has given it up meanwhile: then its payload is left
// alone. `how` is ran or raised; abandoned or cancelled for what a pool has claimed. Any thread;
// noexcept, so call it outside of what may be unwound.
bool finish(record& r, outcome how) noexcept;

// As finish for a payload that needs no destruction: gives the record back at once.
bool finish_in_place_slow(record& r, outcome how) noexcept;
inline bool finish_in_place(record& r, outcome how) noexcept {
    const auto count = [how]() noexcept {
        (how == outcome::ran ? detail::count.ran : detail::count.raised)
            .fetch_add(1, std::memory_order_relaxed);
    };
    return record_pool::instance().recycle_running(r, count) || finish_in_place_slow(r, how);
}

// Counts one run of a task that graphs hold; `how` is ran or raised.
void count_graph_run(outcome how) noexcept;

// For routes. Moves a pending task to its outcome and pushes it for release. False, with nothing
// done, if it has moved on. Whoever ends some asks for a release afterwards.
bool end_pending(record& r, std::uint64_t generation, outcome how) noexcept;

// The same for a pending or running task whose payload somebody may still use: it is leaked.
bool leak(record& r, std::uint64_t generation, state from, outcome how) noexcept;

// Calls use(record, generation, state) for each record of the pool.
template <class Use>
void for_each_record(Use&& use) {
    record_pool& pool = record_pool::instance();
    const std::uint32_t size = pool.size();
    for (std::uint32_t i = 0; i < size; ++i) {
        record& r = pool.at(i);
        const std::uint64_t word = r.word.load();
        use(r, record::generation_of(word), record::state_of(word));
    }
}

}  // namespace hostlaunch::core
