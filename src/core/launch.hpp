// SPDX-License-Identifier: Apache-2.0
// The launch path: from a filled record to the driver's acceptance, or to nothing at all.
//
// All functions enter the driver: call without the GIL and without any lock.
#pragma once

#include "core/context.hpp"
#include "core/record.hpp"

namespace hostlaunch::core {

// Enqueues trampoline(token of r) on the stream. On failure nothing reached the driver, or it
// refused, and r with its payload is the caller's as before. On success r belongs to the launch;
// it may have ended already.
status launch_gated(stream_target target, record& r, abi::host_fn trampoline) noexcept;

// Enqueues fn(user_data) on the stream with an event behind it that tells when it has run.
// Failure as above. If only the tracking fails the launch stands and r is kept to process end.
status launch_as_is(stream_target target, record& r, record_kind kind, abi::host_fn fn,
                    void* user_data) noexcept;

// Enqueues fn(user_data) with the same checks, and keeps nothing.
status launch_untracked(stream_target target, abi::host_fn fn, void* user_data) noexcept;

}  // namespace hostlaunch::core
