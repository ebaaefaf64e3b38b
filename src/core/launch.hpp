// SPDX-License-Identifier: Apache-2.0
// The launch path: from a filled record to the driver's acceptance, or to nothing at all.
//
// All checks come before the first driver call that changes anything. Every function enters the
// driver: call without the GIL and without any lock.
#pragma once

#include "core/context.hpp"
#include "core/housekeeper.hpp"
#include "core/objects.hpp"
#include "core/outcomes.hpp"
#include "core/process.hpp"
#include "core/record.hpp"

namespace hostlaunch::core {

namespace detail {

// What the housekeeper must know of a launch; publishes the payload. Returns the record's word,
// made so that the compiler keeps it alone over the driver's call.
inline std::uint64_t fill(record& r, std::uint64_t free_word) noexcept {
    r.launched_at.store(housekeeper::coarse_now(), std::memory_order_relaxed);
    const std::uint64_t launching = free_word | record::make_word(0, state::launching);
    r.word.store(launching, std::memory_order_release);
    return launching;
}

// Wakes the housekeeper, or drops a launch that came after exit had begun.
void accepted_in_passing(record& r, std::uint64_t launching) noexcept;

// The record may have been claimed, ended and reused meanwhile; then no move applies.
inline void accepted(record& r, std::uint64_t launching) noexcept {
    r.move_on(launching, state::pending);
    // The housekeeper and exit set their bits, then walk the pool. We move to pending (or find that
    // the driver's thread has moved it on), then read both bits, all sequentially consistent: one
    // of two sees the other.
    if (has(housekeeper_sleeps | exiting_bit)) accepted_in_passing(r, launching);
}

// Takes back a launch that the driver refused. Should it have called all the same, it did accept.
status refused(record& r, std::uint64_t launching, int code) noexcept;

}  // namespace detail

// Hands trampoline(token of r) to the driver. requires: the checks passed, r.context is filled.
[[gnu::always_inline]] inline status hand_over(abi::stream stream, record& r,
                                               abi::host_fn trampoline) noexcept {
    const std::uint64_t free_word = r.word.load(std::memory_order_relaxed);
    const std::uint64_t launching = detail::fill(r, free_word);
    const int code = driver_library::api().launch_host_func(
        stream, trampoline, reinterpret_cast<void*>(r.token_from(free_word)));
    if (code != abi::success) [[unlikely]]
        return detail::refused(r, launching, code);
    detail::accepted(r, launching);
    return {};
}

// Fills r.context. requires: the stream's capture was checked.
status fill_context(abi::stream stream, record& r) noexcept;

// Enqueues trampoline(token of r) on the stream, whose context may be null if it is not known. On
// failure nothing reached the driver, or it refused, and r with its payload is the caller's as
// before. On success r belongs to the launch; it may have ended already. The ordinary course is all
// inline.
[[gnu::always_inline]] inline status launch_gated(abi::stream stream, abi::context context,
                                                  record& r, abi::host_fn trampoline) noexcept {
    r.context.store(context, std::memory_order_relaxed);
    if (const status s = check_capture(stream); !s.ok()) [[unlikely]]
        return s;
    if (r.context.load(std::memory_order_relaxed) == nullptr) {
        if (const status s = fill_context(stream, r); !s.ok()) [[unlikely]]
            return s;
    }
    return hand_over(stream, r, trampoline);
}

// The same on a stream of ours that is in use. It looks the handle up each time, which is cheaper
// than to keep it.
[[gnu::always_inline]] inline status launch_gated_on(const core::stream& owner, record& r,
                                                     abi::host_fn trampoline) noexcept {
    r.context.store(owner.context(), std::memory_order_relaxed);
    const capture_answer answer = ask_capture(owner.raw());
    if (!answer.is_free()) [[unlikely]]
        return explain_capture(owner.raw(), answer.code, answer.capturing);
    if (owner.context() == nullptr) [[unlikely]] {
        if (const status s = fill_context(owner.raw(), r); !s.ok()) return s;
    }
    return hand_over(owner.raw(), r, trampoline);
}

// The same for a stream as its carrier names it: on a default stream of a named device, in that
// device's primary context.
status launch_gated(stream_target target, record& r, abi::host_fn trampoline) noexcept;

// Enqueues fn(user_data) on the stream with an event behind it that tells when it has run.
// Failure as above. If only the tracking fails the launch stands and r is kept to process end.
status launch_as_is(stream_target target, record& r, record_kind kind, abi::host_fn fn,
                    void* user_data) noexcept;

// Enqueues fn(user_data) with the same checks, and keeps nothing.
status launch_untracked(stream_target target, abi::host_fn fn, void* user_data) noexcept;

}  // namespace hostlaunch::core
