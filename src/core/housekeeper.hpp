// SPDX-License-Identifier: Apache-2.0
// The background thread that watches what no driver call reports: as-is launches that have run,
// contexts that have failed, release requests that could not be delivered.
//
// It starts with the first launch, looks every 1 to 50 ms while launches are outstanding and sleeps
// without waking otherwise; launches wake it only when it sleeps. It holds no lock across a driver
// call, touches payloads only where no language surface has set a hook, runs in relaxed capture
// mode with all signals blocked, is stopped at exit and is absent in a forked child.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "core/process.hpp"

namespace hostlaunch::core::housekeeper {

namespace detail {
inline constinit std::atomic<std::uint32_t> coarse_ms{0};  // advanced at each look
void wake() noexcept;
}  // namespace detail

// Milliseconds since the first launch in steps of the looks, cheap enough for every launch.
inline std::uint32_t coarse_now() noexcept {
    return detail::coarse_ms.load(std::memory_order_relaxed);
}

// Called after what it shall see was stored: a launch moved to pending, a release asked for. Pairs
// with the thread's setting of the bit and its second look (all sequentially consistent): one of
// the two sees the other.
inline void wake_if_idle() noexcept {
    if (core::detail::has(core::detail::housekeeper_sleeps)) detail::wake();
}

// Ends the thread and waits for it, bounded; launches do not start it again. Any thread but its
// own.
void stop(std::chrono::milliseconds limit) noexcept;

// For the child of a fork: where the driver may not be entered there will be no thread.
void forget() noexcept;

}  // namespace hostlaunch::core::housekeeper
