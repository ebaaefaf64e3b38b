// SPDX-License-Identifier: Apache-2.0
// Numbers that several parts of the embedded driver agree on.
#pragma once

#include <cstddef>

namespace hostlaunch::embedded {

// The CUDA version that the driver says it is of.
inline constexpr int driver_version = 13000;

// How many waits and writes may stand in one batch.
inline constexpr unsigned most_values = 255;

// What a device says it has, and more than one allocation may be.
inline constexpr std::size_t device_memory_bytes = std::size_t{8} << 30;

// The lowest and the highest priority of a stream, as on an H200.
inline constexpr int least_priority = 0;
inline constexpr int greatest_priority = -5;

}  // namespace hostlaunch::embedded
