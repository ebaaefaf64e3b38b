// SPDX-License-Identifier: Apache-2.0
// The moves that end tasks, and the walk that counts them.
#include "core/task/outcomes.hpp"

#include <algorithm>

#include "core/process/monitor.hpp"
#include "core/task/release.hpp"

namespace hostlaunch::core {
namespace {

using detail::count;

std::atomic<std::uint64_t>& counter_of(outcome how) noexcept {
    switch (how) {
        case outcome::ran:
            return count.ran;
        case outcome::raised:
            return count.raised;
        case outcome::abandoned:
            return count.abandoned;
        case outcome::cancelled:
            return count.cancelled;
        default:
            return count.dropped;
    }
}

bool awaits_release(state now) noexcept {
    return now == state::ran || now == state::raised || now == state::abandoned ||
           now == state::dropped || now == state::cancelled || now == state::spent;
}

void read_ended(launch_stats& s) noexcept {
    s.ran = count.ran.load();
    s.raised = count.raised.load();
    s.abandoned = count.abandoned.load();
    s.dropped = count.dropped.load();
    s.cancelled = count.cancelled.load();
}

// The highest number of accepted launches told so far, raised to `found`.
std::uint64_t at_least_as_told(std::uint64_t found) noexcept {
    static constinit std::atomic<std::uint64_t> told{0};
    std::uint64_t highest = told.load();
    while (highest < found && !told.compare_exchange_weak(highest, found)) {
    }
    return std::max(highest, found);
}

bool end_and_push(record& r, std::uint64_t generation, state from, outcome how) noexcept {
    if (!r.move(generation, from, state_after(how))) return false;
    counter_of(how).fetch_add(1);
    to_release().push(r);
    return true;
}

}  // namespace

launch_stats read_stats() noexcept {
    monitor::start_if_missing();
    launch_stats s;
    read_ended(s);
    const std::uint32_t clock = monitor::coarse_now();
    for_each_record([&s, clock](record& r, std::uint64_t, state now) {
        if (now == state::pending) {
            ++s.pending;
            const std::uint32_t age = clock - r.launched_at.load(std::memory_order_relaxed);
            // A clock that went on meanwhile makes the age of a fresh launch negative.
            if (age < std::uint32_t{1} << 31)
                s.oldest_pending_ms = std::max(s.oldest_pending_ms, age);
        }
        s.running += now == state::running ? 1 : 0;
        s.awaiting_release += awaits_release(now) ? 1 : 0;
        s.graph_callbacks += now == state::in_graph ? 1 : 0;
    });
    s.accepted = at_least_as_told(s.ran + s.raised + s.abandoned + s.dropped + s.cancelled +
                                  s.pending + s.running);
    s.graph_ran = count.graph_ran.load();
    s.graph_raised = count.graph_raised.load();
    return s;
}

std::uint64_t outstanding() noexcept {
    const launch_stats s = read_stats();
    return s.pending + s.running;
}

bool any_outstanding(bool releases) noexcept {
    record_pool& pool = record_pool::instance();
    const std::uint32_t size = pool.size();
    for (std::uint32_t i = 0; i < size; ++i) {
        const state now = record::state_of(pool.at(i).word.load());
        if (now == state::pending || now == state::running) return true;
        if (releases && awaits_release(now)) return true;
    }
    return false;
}

bool finish(record& r, outcome how) noexcept {
    if (r.type->completed != nullptr) r.type->completed(r.payload, how);
    if (!end_and_push(r, r.generation(), state::running, how)) return false;
    request_release();
    return true;
}

bool finish_in_place_slow(record& r, outcome how) noexcept {
    if (!r.move(r.generation(), state::running, state_after(how))) return false;
    counter_of(how).fetch_add(1, std::memory_order_relaxed);
    record_pool::instance().recycle(r);
    return true;
}

void count_graph_run(outcome how) noexcept {
    (how == outcome::ran ? count.graph_ran : count.graph_raised)
        .fetch_add(1, std::memory_order_relaxed);
}

bool end_pending(record& r, std::uint64_t generation, outcome how) noexcept {
    return end_and_push(r, generation, state::pending, how);
}

bool leak(record& r, std::uint64_t generation, state from, outcome how) noexcept {
    if (!r.move(generation, from, state::leaked)) return false;
    counter_of(how).fetch_add(1);
    return true;
}

}  // namespace hostlaunch::core
