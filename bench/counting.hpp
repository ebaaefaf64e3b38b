// SPDX-License-Identifier: Apache-2.0
// Counts of what operator new of this program gave out, on all threads.
#pragma once

#include <cstdint>

namespace hostlaunch::bench {

struct allocation_counts {
    std::uint64_t calls = 0;      // since the program began
    std::int64_t bytes_held = 0;  // given out and not given back, as malloc sizes it
};

allocation_counts count_allocations() noexcept;

}  // namespace hostlaunch::bench
