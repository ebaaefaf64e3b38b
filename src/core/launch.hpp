// SPDX-License-Identifier: Apache-2.0
// The launch path: from a filled record to the driver's acceptance, or to nothing at all.
//
// All checks come before the first driver call that changes anything. Every function enters the
// driver: call without the GIL and without any lock.
#pragma once

#include "core/context.hpp"
#include "core/housekeeper.hpp"
#include "core/outcomes.hpp"
#include "core/process.hpp"
#include "core/record.hpp"

namespace hostlaunch::core {

namespace detail {

// What the housekeeper must know of a launch; publishes the payload.
inline void fill(record& r, std::uint64_t generation, abi::context context,
                 record_kind kind) noexcept {
    r.context.store(context, std::memory_order_relaxed);
    r.kind.store(kind, std::memory_order_relaxed);
    r.launched_at.store(housekeeper::coarse_now(), std::memory_order_relaxed);
    r.word.store(record::make_word(generation, state::launching), std::memory_order_release);
}

// Wakes the housekeeper, or drops a launch that came after exit had begun.
void accepted_in_passing(record& r, std::uint64_t generation) noexcept;

// The record may have been claimed, ended and reused meanwhile; then no move applies.
inline void accepted(record& r, std::uint64_t generation) noexcept {
    count_accepted();
    r.move(generation, state::launching, state::pending);
    // The housekeeper sets its bit, then looks at the count; exit sets its bit, then sweeps. We
    // count and move to pending, then read both bits: one of two sees the other.
    if (has(housekeeper_sleeps | exiting_bit)) accepted_in_passing(r, generation);
}

}  // namespace detail

// Enqueues trampoline(token of r) on the stream, whose context may be null if it is not known. On
// failure nothing reached the driver, or it refused, and r with its payload is the caller's as
// before. On success r belongs to the launch; it may have ended already. The ordinary course is all
// inline.
[[gnu::always_inline]] inline status launch_gated(abi::stream stream, abi::context context,
                                                  record& r, abi::host_fn trampoline) noexcept {
    if (const status s = check_capture(stream); !s.ok()) return s;
    if (context == nullptr) {
        stream_target unknown{stream, nullptr, -1};
        if (const status s = ask_context(unknown); !s.ok()) return s;
        context = unknown.context;
    }
    const std::uint64_t generation = r.generation();
    detail::fill(r, generation, context, record_kind::gated);
    const int code = driver_library::api().launch_host_func(
        stream, trampoline, reinterpret_cast<void*>(r.make_token(generation)));
    // A refused launch is withdrawn. Should the driver have called all the same, it did accept.
    if (code != abi::success && r.move(generation, state::launching, state::free)) {
        return {code, "cuLaunchHostFunc"};
    }
    detail::accepted(r, generation);
    return {};
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
