// SPDX-License-Identifier: Apache-2.0
// Our own declarations of the few CUDA driver ABI types that the project needs.
//
// No CUDA header is needed to build or to run. tests/layout checks every size, enumerator and
// signature here against the toolkit's cuda.h where that header exists. Values: cuda.h of
// CUDA 13.0.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hostlaunch::abi {

using result = int;                // CUresult
using device = int;                // CUdevice
using device_ptr = std::uint64_t;  // CUdeviceptr

using context = struct context_t*;          // CUcontext
using stream = struct stream_t*;            // CUstream
using event = struct event_t*;              // CUevent
using graph = struct graph_t*;              // CUgraph
using graph_node = struct graph_node_t*;    // CUgraphNode
using graph_exec = struct graph_exec_t*;    // CUgraphExec
using user_object = struct user_object_t*;  // CUuserObject

using host_fn = void (*)(void* user_data);  // CUhostFn

struct host_node_params {  // CUDA_HOST_NODE_PARAMS
    host_fn fn;
    void* user_data;
};

struct exec_update_result {  // CUgraphExecUpdateResultInfo
    int outcome;             // CUgraphExecUpdateResult: 0 is success
    graph_node error_node;
    graph_node error_from_node;
};

struct graph_instantiate_params {  // CUDA_GRAPH_INSTANTIATE_PARAMS
    std::uint64_t flags;
    stream upload;
    graph_node error_node;
    int outcome;  // CUgraphInstantiateResult: 0 is success
};

// The default-stream tokens; a null stream means the legacy one in the plain entry points.
inline const auto stream_legacy = reinterpret_cast<stream>(std::uintptr_t{1});
inline const auto stream_per_thread = reinterpret_cast<stream>(std::uintptr_t{2});

// CUresult
inline constexpr result success = 0;
inline constexpr result error_invalid_value = 1;
inline constexpr result error_out_of_memory = 2;
inline constexpr result error_not_initialized = 3;
inline constexpr result error_deinitialized = 4;
inline constexpr result error_stub_library = 34;
inline constexpr result error_no_device = 100;
inline constexpr result error_invalid_device = 101;
inline constexpr result error_invalid_context = 201;
inline constexpr result error_invalid_handle = 400;
inline constexpr result error_illegal_state = 401;
inline constexpr result error_not_found = 500;
inline constexpr result error_not_ready = 600;
inline constexpr result error_illegal_address = 700;
inline constexpr result error_context_is_destroyed = 709;
inline constexpr result error_launch_failed = 719;
inline constexpr result error_not_permitted = 800;
inline constexpr result error_not_supported = 801;
inline constexpr result error_stream_capture_unsupported = 900;
inline constexpr result error_stream_capture_invalidated = 901;
inline constexpr result error_stream_capture_merge = 902;
inline constexpr result error_stream_capture_unmatched = 903;
inline constexpr result error_stream_capture_unjoined = 904;
inline constexpr result error_stream_capture_isolation = 905;
inline constexpr result error_stream_capture_implicit = 906;
inline constexpr result error_captured_event = 907;
inline constexpr result error_stream_capture_wrong_thread = 908;
inline constexpr result error_graph_exec_update_failure = 910;
inline constexpr result error_unknown = 999;

// CUstreamCaptureStatus and CUstreamCaptureMode
enum class capture_status : int { none = 0, active = 1, invalidated = 2 };
enum class capture_mode : int { global = 0, thread_local_mode = 1, relaxed = 2 };

// Flags
inline constexpr unsigned stream_default = 0;
inline constexpr unsigned stream_non_blocking = 1;
inline constexpr unsigned event_default = 0;
inline constexpr unsigned event_blocking_sync = 1;
inline constexpr unsigned event_disable_timing = 2;
inline constexpr unsigned event_wait_default = 0;
inline constexpr unsigned mem_host_alloc_portable = 1;
inline constexpr unsigned mem_host_alloc_device_map = 2;
inline constexpr unsigned user_object_no_destructor_sync = 1;
inline constexpr unsigned graph_user_object_move = 1;

// CUgraphExecUpdateResult
inline constexpr int exec_update_success = 0;
inline constexpr int exec_update_error = 1;
inline constexpr int exec_update_topology_changed = 2;
inline constexpr int exec_update_node_type_changed = 3;
inline constexpr int exec_update_parameters_changed = 5;

// CUdriverProcAddressQueryResult
enum class proc_address_result : int { found = 0, not_found = 1, version_not_sufficient = 2 };

using get_proc_address_fn = result (*)(const char* symbol, void** function, int cuda_version,
                                       std::uint64_t flags, proc_address_result* status);

}  // namespace hostlaunch::abi
