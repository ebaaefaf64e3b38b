// SPDX-License-Identifier: Apache-2.0
// The parts of the launch path that are not on the ordinary course of a callable.
#include "core/launch.hpp"

#include "core/as_is.hpp"
#include "driver/driver.hpp"

namespace hostlaunch::core {
namespace {

using driver_library::api;

status make_event(abi::context context, abi::event* out) noexcept {
    const current_context scope(context);
    if (!scope.status().ok()) return scope.status();
    return {api().event_create(out, abi::event_disable_timing), "cuEventCreate"};
}

}  // namespace

status fill_context(abi::stream stream, record& r) noexcept {
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
    housekeeper::wake_if_idle();
    if (exiting()) drop_late(r, record::generation_of(launching));
}

status launch_gated(stream_target target, record& r, abi::host_fn trampoline) noexcept {
    if (target.device < 0) return launch_gated(target.handle, target.context, r, trampoline);
    const target_scope scope(target);
    if (!scope.status().ok()) return scope.status();
    return launch_gated(target.handle, target.context, r, trampoline);
}

status launch_as_is(stream_target target, record& r, record_kind kind, abi::host_fn fn,
                    void* user_data) noexcept {
    const target_scope scope(target);
    if (!scope.status().ok()) return scope.status();
    if (const status s = check_capture(target.handle); !s.ok()) return s;
    if (const status s = find_context(target); !s.ok()) return s;

    abi::event event = nullptr;
    {
        const relaxed_capture mode;
        keep_context(target.context);
        if (const status s = make_event(target.context, &event); !s.ok()) return s;
    }
    const std::uint64_t free_word = r.word.load(std::memory_order_relaxed);
    r.stream.store(target.handle, std::memory_order_relaxed);
    r.event.store(event, std::memory_order_relaxed);
    r.context.store(target.context, std::memory_order_relaxed);
    r.kind.store(kind, std::memory_order_relaxed);
    const std::uint64_t launching = detail::fill(r, free_word);
    const int refused = api().launch_host_func(target.handle, fn, user_data);

    const relaxed_capture mode;
    if (refused != abi::success) {
        r.move_on(launching, state::free);
        api().event_destroy(event);
        return {refused, "cuLaunchHostFunc"};
    }
    const int untracked = api().event_record(event, target.handle);
    detail::accepted(r, launching);
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
