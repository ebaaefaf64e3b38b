// SPDX-License-Identifier: Apache-2.0
// The cheapest steady clock there is, and what its ticks are in nanoseconds.
#pragma once

#include <cstdint>

namespace hostlaunch::core {

// The processor's counter, where it promises to run at one rate in all its states; else
// nanoseconds.
std::uint64_t ticks() noexcept;

// How ticks relate to CLOCK_MONOTONIC, from a pair taken when the process first asked and one taken
// now: the longer the process lives, the better.
struct time_scale {
    std::uint64_t ticks = 0;
    std::uint64_t nanoseconds = 0;
    double per_tick = 1.0;

    std::uint64_t to_nanoseconds(std::uint64_t at) const noexcept {
        const auto since = static_cast<double>(static_cast<std::int64_t>(at - ticks)) * per_tick;
        return nanoseconds + static_cast<std::uint64_t>(static_cast<std::int64_t>(since));
    }
};

// The first call takes a millisecond. Allocates nothing.
time_scale read_time_scale() noexcept;

}  // namespace hostlaunch::core
