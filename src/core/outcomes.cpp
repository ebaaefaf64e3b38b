// SPDX-License-Identifier: Apache-2.0
// The moves that end launches; sweeps walk the pool.
#include "core/outcomes.hpp"

#include <algorithm>

#include "core/handle.hpp"
#include "core/housekeeper.hpp"
#include "hostlaunch/detail/closure.hpp"

namespace hostlaunch::core {
namespace {

using detail::count;

record_stack ended;
// Set once. The acquire in request_release pairs with the store in set_release_hook: the hook finds
// what its surface made ready before.
std::atomic<bool (*)() noexcept> release_hook{nullptr};
std::atomic<bool> release_retry{false};

std::atomic<std::uint64_t>& counter_of(state outcome) noexcept {
    switch (outcome) {
        case state::ran:
            return count.ran;
        case state::raised:
            return count.raised;
        case state::abandoned:
            return count.abandoned;
        default:
            return count.dropped;
    }
}

template <class Use>
void for_each_record(Use&& use) noexcept {
    record_pool& pool = record_pool::instance();
    const std::uint32_t size = pool.size();
    for (std::uint32_t i = 0; i < size; ++i) {
        record& r = pool.at(i);
        const std::uint64_t word = r.word.load();
        use(r, record::generation_of(word), record::state_of(word));
    }
}

bool has_ended(state now) noexcept {
    return now == state::ran || now == state::raised || now == state::abandoned ||
           now == state::dropped || now == state::spent;
}

void read_ended(launch_stats& s) noexcept {
    s.ran = count.ran.load();
    s.raised = count.raised.load();
    s.abandoned = count.abandoned.load();
    s.dropped = count.dropped.load();
}

// The highest number of accepted launches told so far, raised to `found`.
std::uint64_t at_least_as_told(std::uint64_t found) noexcept {
    static constinit std::atomic<std::uint64_t> told{0};
    std::uint64_t highest = told.load();
    while (highest < found && !told.compare_exchange_weak(highest, found)) {
    }
    return std::max(highest, found);
}

// Moves a record that nobody may release to `kept` and counts its outcome.
bool keep(record& r, std::uint64_t generation, state from, state outcome) noexcept {
    if (!r.move(generation, from, state::kept)) return false;
    counter_of(outcome).fetch_add(1);
    return true;
}

bool end_and_push(record& r, std::uint64_t generation, state from, state outcome) noexcept {
    if (!r.move(generation, from, outcome)) return false;
    counter_of(outcome).fetch_add(1);
    ended.push(r);
    return true;
}

bool is_as_is(const record& r) noexcept {
    return r.kind.load(std::memory_order_relaxed) != record_kind::gated;
}

}  // namespace

launch_stats read_stats() noexcept {
    launch_stats s;
    read_ended(s);
    const std::uint32_t clock = housekeeper::coarse_now();
    for_each_record([&s, clock](record& r, std::uint64_t, state now) {
        if (now == state::pending) {
            ++s.pending;
            const std::uint32_t age = clock - r.launched_at.load(std::memory_order_relaxed);
            // A clock that went on meanwhile makes the age of a fresh launch negative.
            if (age < std::uint32_t{1} << 31)
                s.oldest_pending_ms = std::max(s.oldest_pending_ms, age);
        }
        s.running += now == state::running ? 1 : 0;
        s.awaiting_release += has_ended(now) ? 1 : 0;
        s.graph_callbacks += now == state::attached ? 1 : 0;
    });
    s.accepted =
        at_least_as_told(s.ran + s.raised + s.abandoned + s.dropped + s.pending + s.running);
    s.graph_ran = count.graph_ran.load();
    s.graph_raised = count.graph_raised.load();
    return s;
}

std::uint64_t outstanding() noexcept {
    const launch_stats s = read_stats();
    return s.pending + s.running;
}

bool any_outstanding() noexcept {
    const bool releases = release_hook.load() == nullptr;
    record_pool& pool = record_pool::instance();
    const std::uint32_t size = pool.size();
    for (std::uint32_t i = 0; i < size; ++i) {
        const state now = record::state_of(pool.at(i).word.load());
        if (now == state::pending || now == state::running) return true;
        if (releases && has_ended(now)) return true;
    }
    return false;
}

bool finish(record& r, state outcome) noexcept {
    return end_and_push(r, r.generation(), state::running, outcome);
}

bool finish_in_place_slowly(record& r, state outcome) noexcept {
    if (!r.move(r.generation(), state::running, outcome)) return false;
    counter_of(outcome).fetch_add(1, std::memory_order_relaxed);
    record_pool::instance().recycle(r);
    return true;
}

void finish_as_is(record& r, state outcome) noexcept {
    const std::uint64_t generation = r.generation();
    if (outcome == state::ran) {
        end_and_push(r, generation, state::pending, outcome);
    } else {
        keep(r, generation, state::pending, outcome);
    }
}

void abandon_pending(abi::context failed) noexcept {
    bool pushed = false;
    for_each_record([&](record& r, std::uint64_t generation, state now) {
        if (now != state::pending || is_as_is(r)) return;  // as-is ones are told by their events
        if (r.context.load(std::memory_order_relaxed) != failed) return;
        pushed |= end_and_push(r, generation, state::pending, state::abandoned);
    });
    if (pushed) request_release();
}

std::uint64_t drop_all() noexcept {
    std::uint64_t dropped = 0;
    for_each_record([&dropped](record& r, std::uint64_t generation, state now) {
        bool done = false;
        if (now == state::running || (now == state::pending && is_as_is(r))) {
            done = keep(r, generation, now, state::dropped);
        } else if (now == state::pending) {
            done = end_and_push(r, generation, now, state::dropped);
        }
        dropped += done ? 1 : 0;
    });
    return dropped;
}

std::uint64_t unknown_code_pending() noexcept {
    std::uint64_t pending = 0;
    for_each_record([&pending](record& r, std::uint64_t, state now) {
        const bool unknown = r.kind.load(std::memory_order_relaxed) == record_kind::as_is_unknown;
        if (now == state::pending && unknown) ++pending;
    });
    return pending;
}

void drop_late(record& r, std::uint64_t generation) noexcept {
    if (is_as_is(r)) {
        keep(r, generation, state::pending, state::dropped);
    } else {
        end_and_push(r, generation, state::pending, state::dropped);
    }
}

record_stack& to_release() noexcept {
    return ended;
}

void set_release_hook(bool (*hook)() noexcept) noexcept {
    release_hook.store(hook);
}

void request_release() noexcept {
    auto* hook = release_hook.load(std::memory_order_acquire);
    if (hook != nullptr && hook()) return;
    if (hook != nullptr) release_retry.store(true);
    housekeeper::wake_if_idle();
}

bool release_in_background() noexcept {
    if (!background_release_wanted()) return false;
    run_deferred();
    ended.drain([](record& r) {
        if (r.operations->destroy != nullptr) r.operations->destroy(r.payload);
        record_pool::instance().recycle(r);
    });
    return true;
}

bool background_release_wanted() noexcept {
    return release_hook.load() == nullptr && (!ended.empty() || has_deferred());
}

bool take_release_retry() noexcept {
    return release_retry.exchange(false);
}
bool release_retry_wanted() noexcept {
    return release_retry.load();
}

void forget_outcomes() noexcept {
    ended.forget();
    release_retry.store(false);
}

}  // namespace hostlaunch::core
