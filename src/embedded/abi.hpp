// SPDX-License-Identifier: Apache-2.0
// The ABI's types as this folder's vocabulary: those of driver/abi.hpp, and those that only a
// driver itself needs.
#pragma once

#include "driver/abi.hpp"

namespace hostlaunch::embedded {

using namespace hostlaunch::abi;  // NOLINT: the ABI's types are this folder's vocabulary

struct edge_data {  // CUgraphEdgeData
    unsigned char from_port;
    unsigned char to_port;
    unsigned char type;
    unsigned char reserved[5];
};

using stream_callback = void (*)(stream s, result status, void* user_data);  // CUstreamCallback

}  // namespace hostlaunch::embedded
