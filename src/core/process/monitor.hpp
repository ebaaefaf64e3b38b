// SPDX-License-Identifier: Apache-2.0
// The background thread: it carries out the duties that others have registered, and knows none.
//
// It starts with the first launch, looks every 1 to 50 ms while a duty has work and sleeps without
// waking otherwise; launches wake it only when it sleeps. It holds no lock across a duty, is joined
// at exit (so before a library that holds it can be unmapped) and is absent in a forked child.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "core/process/process.hpp"

namespace hostlaunch::core::monitor {

// What the thread does for a part of the library. Any of them may be null. All run on the thread
// alone, without locks, and must neither throw nor need memory to go on: what cannot be done now is
// left for the next look.
struct duty {
    void (*begin)() noexcept = nullptr;     // when the thread starts
    bool (*look)() noexcept = nullptr;      // true if something was found: then it looks again soon
    bool (*has_work)() noexcept = nullptr;  // keeps it from sleeping; also read on other threads
    void (*woke)() noexcept = nullptr;      // after a sleep, in which coarse_now stood still
    void (*last_look)() noexcept = nullptr;
    void (*end)() noexcept = nullptr;
    duty* next = nullptr;  // the list's
};

// Once for each duty, which lives for ever. Duties look in the order in which they were added. Not
// for concurrent use, and before the first wake.
void add(duty& d) noexcept;

namespace detail {
inline constinit std::atomic<std::uint32_t> coarse_ms{0};  // advanced at each look
inline constinit std::atomic<bool> start_failed{false};
void wake() noexcept;
}  // namespace detail

// Milliseconds since the first launch in steps of the looks, cheap enough for every launch.
inline std::uint32_t coarse_now() noexcept {
    return detail::coarse_ms.load(std::memory_order_relaxed);
}

// Called after what it shall see was stored: a launch moved to pending, a release asked for. Pairs
// with the thread's setting of the bit and its second question for work (all sequentially
// consistent): one of the two sees the other.
inline void wake_if_asleep() noexcept {
    if (core::detail::has(core::detail::monitor_sleeps)) detail::wake();
}

// Starts the thread where there was none to be had when it was needed: from any call that may enter
// the driver, and from releases.
inline void start_if_missing() noexcept {
    if (detail::start_failed.load(std::memory_order_relaxed)) [[unlikely]]
        detail::wake();
}

// Ends the thread and waits for it, bounded; launches do not start it again. Called by a duty on
// the thread itself, it does not wait: the thread never comes back from there.
void stop(std::chrono::milliseconds limit) noexcept;

// For the child of a fork: where the driver may not be entered there will be no thread.
void forget() noexcept;

}  // namespace hostlaunch::core::monitor
