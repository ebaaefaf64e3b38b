// SPDX-License-Identifier: Apache-2.0
// The route of callables: the driver's thread calls our trampoline, and the stream waits for it.
//
// All checks come before the first driver call that changes anything. Every function enters the
// driver: call without the GIL and without any lock. The fast path of C++ is all inline.
#pragma once

#include "core/objects/capture_check.hpp"
#include "core/objects/stream.hpp"
#include "core/process/monitor.hpp"
#include "core/process/process.hpp"
#include "core/routes/route.hpp"
#include "core/task/run.hpp"

namespace hostlaunch::core {

extern const route driver_thread;

namespace detail {

// What the monitor must know of a launch; publishes the payload. Returns the record's word, made so
// that the compiler keeps it alone over the driver's call.
inline std::uint64_t fill(record& r, std::uint64_t free_word) noexcept {
    r.launched_at.store(monitor::coarse_now(), std::memory_order_relaxed);
    const std::uint64_t launching = free_word | record::make_word(0, state::launching);
    r.word.store(launching, std::memory_order_release);
    return launching;
}

// Wakes the monitor, or drops a launch that came after exit had begun.
void accepted_in_passing(record& r, std::uint64_t launching) noexcept;

// The record may have been claimed, ended and reused meanwhile; then no move applies.
inline void accepted(record& r, std::uint64_t launching) noexcept {
    r.move_on(launching, state::pending);
    // The monitor and exit set their bits, then walk the pool. We move to pending (or find that the
    // driver's thread has moved it on), then read both bits, all sequentially consistent: one of
    // two sees the other.
    if (has(monitor_sleeps | exiting_bit)) accepted_in_passing(r, launching);
}

// Takes back a launch that the driver refused. Should it have called all the same, it did accept.
status refused(record& r, std::uint64_t launching, int code) noexcept;

// Fills r.context. requires: the stream's capture was checked.
status fill_context(abi::stream stream, record& r) noexcept;

}  // namespace detail

// Hands the trampoline and the record's token to the driver. requires: the checks passed, r.context
// is filled.
[[gnu::always_inline]] inline status submit(abi::stream stream, record& r) noexcept {
    const std::uint64_t free_word = r.word.load(std::memory_order_relaxed);
    r.set_stream(stream);
    const std::uint64_t launching = detail::fill(r, free_word);
    const int code = driver_library::api().launch_host_func(
        stream, &hostlaunch_call, reinterpret_cast<void*>(r.token_from(free_word)));
    if (code != abi::success) [[unlikely]]
        return detail::refused(r, launching, code);
    detail::accepted(r, launching);
    return {};
}

// As route::launch, on a stream whose context may be null if it is not known.
[[gnu::always_inline]] inline status launch_on(abi::stream stream, abi::context context,
                                               record& r) noexcept {
    r.context.store(context, std::memory_order_relaxed);
    if (const status s = check_capture(stream); !s.ok()) [[unlikely]]
        return s;
    if (r.context.load(std::memory_order_relaxed) == nullptr) {
        if (const status s = detail::fill_context(stream, r); !s.ok()) [[unlikely]]
            return s;
    }
    return submit(stream, r);
}

// The same on a stream of ours that is in use. It looks the handle up each time, which is cheaper
// than to keep it.
[[gnu::always_inline]] inline status launch_on(const core::stream& owner, record& r) noexcept {
    r.context.store(owner.context(), std::memory_order_relaxed);
    const capture_answer answer = ask_capture(owner.raw());
    if (!answer.is_free()) [[unlikely]]
        return explain_capture(owner.raw(), answer.code, answer.capturing);
    if (owner.context() == nullptr) [[unlikely]] {
        if (const status s = detail::fill_context(owner.raw(), r); !s.ok()) return s;
    }
    return submit(owner.raw(), r);
}

}  // namespace hostlaunch::core
