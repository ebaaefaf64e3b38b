// SPDX-License-Identifier: Apache-2.0
// Reading both clocks together.
#include "core/task/ticks.hpp"

#include <time.h>

#ifdef __x86_64__
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace hostlaunch::core {
namespace {

std::uint64_t monotonic() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
           static_cast<std::uint64_t>(now.tv_nsec);
}

#ifdef __x86_64__
bool has_steady_counter() noexcept {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(0x80000007u, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
}
const bool counts_ticks = has_steady_counter();
#else
constexpr bool counts_ticks = false;
#endif

struct pair {
    std::uint64_t ticks;
    std::uint64_t nanoseconds;
};

// Of a few tries the one whose clocks were read closest together.
pair read_both() noexcept {
    pair best{};
    std::uint64_t least = ~std::uint64_t{0};
    for (int i = 0; i < 5; ++i) {
        const std::uint64_t before = ticks();
        const std::uint64_t now = monotonic();
        const std::uint64_t after = ticks();
        if (after - before >= least) continue;
        least = after - before;
        best = {before + least / 2, now};
    }
    return best;
}

// With enough of a base behind it that the first answer is right to a few parts in ten thousand.
pair read_first() noexcept {
    const pair first = read_both();
    const timespec base{0, 1'000'000};
    nanosleep(&base, nullptr);
    return first;
}

}  // namespace

std::uint64_t ticks() noexcept {
#ifdef __x86_64__
    if (counts_ticks) return __rdtsc();
#endif
    return monotonic();
}

time_scale read_time_scale() noexcept {
    if (!counts_ticks) return {};
    static const pair first = read_first();
    const pair now = read_both();
    const auto passed = static_cast<double>(now.nanoseconds - first.nanoseconds);
    return {now.ticks, now.nanoseconds, passed / static_cast<double>(now.ticks - first.ticks)};
}

}  // namespace hostlaunch::core
