// SPDX-License-Identifier: Apache-2.0
// The list of routes, and the walks that end tasks wherever they are.
#include "core/routes/routes.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "core/objects/context_failure.hpp"
#include "core/process/monitor.hpp"
#include "core/routes/driver_thread.hpp"
#include "core/routes/native.hpp"
#include "core/routes/signal.hpp"
#include "core/task/outcomes.hpp"
#include "core/task/release.hpp"

namespace hostlaunch::core::routes {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr const route* all[] = {&driver_thread, &native, &unknown_code, &signal};

constexpr milliseconds probe_every{400};      // contract L4: within one second of the failure
constexpr std::uint32_t overdue_after = 300;  // coarse milliseconds

bool is_pending(const record& r) noexcept {
    return record::state_of(r.word.load()) == state::pending;
}

bool is_overdue(const record& r) noexcept {
    return is_pending(r) &&
           monitor::coarse_now() - r.launched_at.load(std::memory_order_relaxed) >= overdue_after;
}

// Asks each context that has overdue tasks whether it still works. More contexts than there is room
// for are asked more than once, which costs time alone.
void probe_overdue() noexcept {
    std::array<abi::context, 64> asked{};
    std::size_t count = 0;
    for_each_record([&](record& r, std::uint64_t, state) {
        if (!is_overdue(r)) return;
        const auto context = r.context.load(std::memory_order_relaxed);
        const auto end = asked.begin() + static_cast<std::ptrdiff_t>(count);
        if (std::find(asked.begin(), end, context) != end) return;
        if (count < asked.size()) asked[count++] = context;
        if (has_failed(context)) abandon_pending(context);
    });
}

bool look_and_probe() noexcept {
    static steady_clock::time_point probed_at = steady_clock::now();  // the monitor's alone
    const bool found = look(false);
    const auto now = steady_clock::now();
    if (now - probed_at < probe_every) return found;
    probed_at = now;
    probe_overdue();
    return found;
}

// The clock stood still: what was launched since has an old time.
void renew_times() noexcept {
    for_each_record([](record& r, std::uint64_t, state now) {
        if (now != state::pending) return;
        r.launched_at.store(monitor::coarse_now(), std::memory_order_relaxed);
    });
}

constinit monitor::duty duty{
    .look = &look_and_probe,
    .has_work = []() noexcept { return any_outstanding(!has_release_hook()); },
    .woke = &renew_times,
    .last_look = []() noexcept { look(true); },
};

}  // namespace

const route& of(const record& r) noexcept {
    const route* taken = r.route.load(std::memory_order_relaxed);
    return taken == nullptr ? driver_thread : *taken;
}

bool look(bool wait) noexcept {
    bool found = false;
    for (const route* r : all)
        found |= r->look != nullptr && r->look(wait);
    return found;
}

void abandon_pending(abi::context failed) noexcept {
    bool pushed = false;
    for_each_record([&](record& r, std::uint64_t generation, state now) {
        if (now != state::pending || r.context.load(std::memory_order_relaxed) != failed) return;
        const route& taken = of(r);
        pushed |= taken.on_context_failure != nullptr && taken.on_context_failure(r, generation);
    });
    if (pushed) request_release();
}

std::uint64_t drop_all() noexcept {
    for (const route* r : all) {
        if (r->close != nullptr) r->close();
    }
    std::uint64_t dropped = 0;
    for_each_record([&dropped](record& r, std::uint64_t generation, state now) {
        if (now != state::pending && now != state::running) return;
        dropped += of(r).on_exit(r, generation, now) ? 1 : 0;
    });
    return dropped;
}

void drop_late(record& r, std::uint64_t generation) noexcept {
    of(r).on_exit(r, generation, state::pending);
}

bool awaited_at_exit() noexcept {
    bool any = false;
    for_each_record([&any](record& r, std::uint64_t, state now) {
        any |= now == state::pending && of(r).awaited_at_exit;
    });
    return any;
}

void add_duties() noexcept {
    monitor::add(duty);
}

}  // namespace hostlaunch::core::routes
