// SPDX-License-Identifier: Apache-2.0
// All checks come before the first driver call that changes anything.
#include "core/launch.hpp"

#include "core/as_is.hpp"
#include "core/housekeeper.hpp"
#include "core/outcomes.hpp"
#include "core/process.hpp"
#include "driver/driver.hpp"

namespace hostlaunch::core {
namespace {

using driver_library::api;

status prepare(stream_target& target) noexcept {
    const status capture = check_capture(target.handle);
    return capture.ok() ? find_context(target) : capture;
}

void fill(record& r, const stream_target& target, record_kind kind, abi::event event) noexcept {
    r.context.store(target.context, std::memory_order_relaxed);
    r.stream.store(target.handle, std::memory_order_relaxed);
    r.event.store(event, std::memory_order_relaxed);
    r.kind.store(kind, std::memory_order_relaxed);
    r.launched_at.store(housekeeper::coarse_now(), std::memory_order_relaxed);
    r.word.store(record::make_word(r.generation(), state::launching), std::memory_order_release);
}

// The record may have been claimed, ended and reused meanwhile; then no move applies.
void accepted(record& r, std::uint64_t generation) noexcept {
    count_accepted();
    r.move(generation, state::launching, state::pending);
    housekeeper::wake_if_idle();
    // Exit sets the flag, then sweeps; we move to pending, then read the flag: one sees the other.
    if (exiting()) drop_late(r, generation);
}

status make_event(abi::context context, abi::event* out) noexcept {
    const current_context scope(context);
    if (!scope.status().ok()) return scope.status();
    return {api().event_create(out, abi::event_disable_timing), "cuEventCreate"};
}

}  // namespace

status launch_gated(stream_target target, record& r, abi::host_fn trampoline) noexcept {
    const target_scope scope(target);
    if (!scope.status().ok()) return scope.status();
    if (const status s = prepare(target); !s.ok()) return s;

    fill(r, target, record_kind::gated, nullptr);
    const std::uint64_t generation = r.generation();
    const token t = r.make_token();
    const int code = api().launch_host_func(target.handle, trampoline, reinterpret_cast<void*>(t));
    // A refused launch is withdrawn. Should the driver have called all the same, it did accept.
    if (code != abi::success && r.move(generation, state::launching, state::free)) {
        return {code, "cuLaunchHostFunc"};
    }
    accepted(r, generation);
    return {};
}

status launch_as_is(stream_target target, record& r, record_kind kind, abi::host_fn fn,
                    void* user_data) noexcept {
    const target_scope scope(target);
    if (!scope.status().ok()) return scope.status();
    if (const status s = prepare(target); !s.ok()) return s;

    abi::event event = nullptr;
    {
        const relaxed_capture mode;
        if (const status s = make_event(target.context, &event); !s.ok()) return s;
    }
    fill(r, target, kind, event);
    const std::uint64_t generation = r.generation();
    const int refused = api().launch_host_func(target.handle, fn, user_data);

    const relaxed_capture mode;
    if (refused != abi::success) {
        r.move(generation, state::launching, state::free);
        api().event_destroy(event);
        return {refused, "cuLaunchHostFunc"};
    }
    const int untracked = api().event_record(event, target.handle);
    accepted(r, generation);
    if (untracked == abi::success) {
        as_is::track(r);
        return {};
    }
    finish_as_is(r, state::abandoned);  // the launch stands; nothing will tell when it has run
    api().event_destroy(event);
    return {};
}

status launch_untracked(stream_target target, abi::host_fn fn, void* user_data) noexcept {
    const target_scope scope(target);
    if (!scope.status().ok()) return scope.status();
    if (const status s = check_capture(target.handle); !s.ok()) return s;
    return {api().launch_host_func(target.handle, fn, user_data), "cuLaunchHostFunc"};
}

}  // namespace hostlaunch::core
