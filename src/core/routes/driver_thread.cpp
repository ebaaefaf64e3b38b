// SPDX-License-Identifier: Apache-2.0
// The parts of the route that are not on the fast path, and its table.
#include "core/routes/driver_thread.hpp"

#include "core/routes/routes.hpp"
#include "core/task/outcomes.hpp"

namespace hostlaunch::core {

status detail::fill_context(abi::stream stream, record& r) noexcept {
    stream_target unknown{stream, nullptr, -1};
    const status s = ask_context(unknown);
    r.context.store(unknown.context, std::memory_order_relaxed);
    return s;
}

status detail::refused(record& r, std::uint64_t launching, int code) noexcept {
    if (r.move_on(launching, state::free)) return {code, "cuLaunchHostFunc"};
    accepted(r, launching);
    return {};
}

void detail::accepted_in_passing(record& r, std::uint64_t launching) noexcept {
    monitor::wake_if_asleep();
    // While the gate is open, exit waits for it. The gate closes, then the pool is swept; we move
    // to pending, then look at the gate.
    if (gate().is_closed()) routes::drop_late(r, record::generation_of(launching));
}

namespace {

// On a default stream of a named device: in that device's primary context.
status launch(stream_target target, record& r, const native_code&) noexcept {
    if (target.device < 0) return launch_on(target.handle, target.context, r);
    const target_scope scope(target);
    if (!scope.status().ok()) return scope.status();
    return launch_on(target.handle, target.context, r);
}

bool abandon(record& r, std::uint64_t generation) noexcept {
    return end_pending(r, generation, outcome::abandoned);
}

// What has not started can start no more, since the gate is closed. What runs keeps its payload.
bool drop(record& r, std::uint64_t generation, state now) noexcept {
    return now == state::running ? leak(r, generation, now, outcome::dropped)
                                 : end_pending(r, generation, outcome::dropped);
}

}  // namespace

constinit const route driver_thread{
    .name = "driver thread", .launch = &launch, .on_context_failure = &abandon, .on_exit = &drop};

}  // namespace hostlaunch::core
