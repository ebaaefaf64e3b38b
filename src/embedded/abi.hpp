// SPDX-License-Identifier: Apache-2.0
// The ABI's types as this folder's vocabulary: those of driver/abi.hpp, and those that only a
// driver itself needs. tests/layout holds them against cuda.h.
#pragma once

#include "driver/abi.hpp"

namespace hostlaunch::embedded {

using namespace hostlaunch::abi;  // NOLINT: the ABI's types are this folder's vocabulary

using stream_callback = void (*)(stream s, result status, void* user_data);  // CUstreamCallback
using memory_pool = struct memory_pool_t*;                                   // CUmemoryPool

struct edge_data {  // CUgraphEdgeData
    unsigned char from_port;
    unsigned char to_port;
    unsigned char type;
    unsigned char reserved[5];
};

// CUmemorytype; none is no value of it
enum class memory_type : int { none = 0, host = 1, device = 2, array = 3, unified = 4 };

struct copy_end {  // the half of CUDA_MEMCPY3D that says where
    std::size_t x_bytes;
    std::size_t y;
    std::size_t z;
    std::size_t level;
    memory_type type;
    void* host;
    device_ptr address;
    void* array;
    void* reserved;
    std::size_t pitch;
    std::size_t height;
};

struct copy_params {  // CUDA_MEMCPY3D
    copy_end from;
    copy_end to;
    std::size_t width;  // in bytes
    std::size_t height;
    std::size_t depth;
};

struct flat_copy_end {  // the half of CUDA_MEMCPY2D
    std::size_t x_bytes;
    std::size_t y;
    memory_type type;
    void* host;
    device_ptr address;
    void* array;
    std::size_t pitch;
};

struct flat_copy_params {  // CUDA_MEMCPY2D
    flat_copy_end from;
    flat_copy_end to;
    std::size_t width;  // in bytes
    std::size_t height;
};

struct fill_params {  // CUDA_MEMSET_NODE_PARAMS; the second version has a context behind it
    device_ptr dst;
    std::size_t pitch;
    unsigned value;
    unsigned element_bytes;
    std::size_t width;  // in elements
    std::size_t height;
};

// CUstreamBatchMemOpType; none is no value of it
enum class value_operation : int {
    none = 0,
    wait_32 = 1,
    write_32 = 2,
    flush_remote_writes = 3,
    wait_64 = 4,
    write_64 = 5,
    barrier = 6,
};

struct value_params {  // CUstreamBatchMemOpParams: the waits and the writes have one layout
    value_operation operation;
    device_ptr address;  // of a flush or a barrier the flags lie here
    std::uint64_t value;
    unsigned flags;
    device_ptr alias;
    std::uint64_t padding;
};

struct batch_params {  // CUDA_BATCH_MEM_OP_NODE_PARAMS
    context ctx;
    unsigned count;
    value_params* operations;
    unsigned flags;
};

inline constexpr result error_operating_system = 304;
inline constexpr result error_host_memory_already_registered = 712;
inline constexpr result error_host_memory_not_registered = 713;

struct memory_location {  // CUmemLocation
    int type;
    int id;
    bool operator==(const memory_location&) const = default;
};
inline constexpr int location_none = 0;
inline constexpr int location_device = 1;
inline constexpr int location_host = 2;
inline constexpr int location_host_numa = 3;
inline constexpr int location_host_numa_current = 4;

struct memory_access {  // CUmemAccessDesc
    memory_location location;
    int flags;
};
inline constexpr int access_none = 0;
inline constexpr int access_read_write = 3;

struct pool_params {  // CUmemPoolProps
    int allocation_type;
    int handle_types;
    memory_location location;
    void* security;
    std::size_t most_bytes;
    unsigned short usage;
    unsigned char reserved[54];
};
inline constexpr int allocation_pinned = 1;
inline constexpr int allocation_managed = 2;

struct allocation_params {  // CUDA_MEM_ALLOC_NODE_PARAMS
    pool_params pool;
    const memory_access* access;
    std::size_t access_count;
    std::size_t bytes;
    device_ptr address;
};

struct child_params {  // CUDA_CHILD_GRAPH_NODE_PARAMS
    graph child;
    int ownership;
};

struct node_params {  // CUgraphNodeParams
    int type;
    int reserved[3];
    union {
        long long space[29];
        struct {
            int flags;
            int reserved;
            context ctx;
            copy_params what;
        } copy;
        struct {
            fill_params what;
            context ctx;
        } fill;
        host_node_params host;
        child_params child;
        event on;
        allocation_params allocation;
        device_ptr freed;
        batch_params batch;
    };
    long long reserved_behind;
};

}  // namespace hostlaunch::embedded
