// SPDX-License-Identifier: Apache-2.0
// cuda::host_launch of NVIDIA's CCCL, where the build found headers that have it.
#pragma once

#include <cstddef>

struct CUstream_st;

namespace hostlaunch::bench {

inline constexpr const char* cccl_name = "CCCL cuda::host_launch of a lambda";

// Null if it can be measured, else why not.
const char* cccl_status();

// Counts up on the driver's thread. requires: cccl_status() is null.
void launch_with_cccl(CUstream_st* stream, std::size_t* count);

}  // namespace hostlaunch::bench
