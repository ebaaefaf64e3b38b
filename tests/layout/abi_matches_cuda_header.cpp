// SPDX-License-Identifier: Apache-2.0
// Compile-only: our ABI types, enumerators and signatures are those of the toolkit's cuda.h.
//
// Signatures are compared structurally, against the typedef that carries the ABI version which we
// ask for or export: parameters must be of the same kind (integer, pointer, function) and size.
// What is opaque on either side matches; so does a void pointer.
#include <cuda.h>
#include <cudaTypedefs.h>

#include <type_traits>

#include "driver/abi.hpp"
#include "embedded/abi.hpp"

namespace hostlaunch::abi {
namespace {

template <class Ours, class Theirs>
struct same_shape;

template <class T>
constexpr bool is_made = std::is_class_v<T> || std::is_union_v<T>;

template <class Ours, class Theirs>
constexpr bool same_pointee() {
    using ours = std::remove_cv_t<Ours>;
    using theirs = std::remove_cv_t<Theirs>;
    if constexpr (std::is_void_v<ours> || std::is_void_v<theirs>) {
        return true;
    } else if constexpr (is_made<ours> || is_made<theirs>) {
        return is_made<ours> && is_made<theirs>;
    } else {
        return same_shape<ours, theirs>::value;
    }
}

template <class Ours, class Theirs>
struct same_shape {
    static constexpr bool is_number(auto* type) {
        using pointed = std::remove_pointer_t<decltype(type)>;
        return std::is_integral_v<pointed> || std::is_enum_v<pointed> ||
               std::is_floating_point_v<pointed>;
    }
    static constexpr bool are_numbers =
        is_number(static_cast<Ours*>(nullptr)) && is_number(static_cast<Theirs*>(nullptr)) &&
        std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs>;
    static constexpr bool are_made = is_made<Ours> && is_made<Theirs>;
    static constexpr bool value = (are_numbers || are_made) && sizeof(Ours) == sizeof(Theirs);
};

template <>
struct same_shape<void, void> : std::true_type {};

template <class Ours, class Theirs>
struct same_shape<Ours*, Theirs*> {
    static constexpr bool value = same_pointee<Ours, Theirs>();
};

template <class... Ours, class... Theirs, class OurResult, class TheirResult>
struct same_shape<OurResult(Ours...), TheirResult(Theirs...)> {
    static constexpr bool compare() {
        if constexpr (sizeof...(Ours) == sizeof...(Theirs)) {
            return same_shape<OurResult, TheirResult>::value &&
                   (same_shape<std::remove_cv_t<Ours>, std::remove_cv_t<Theirs>>::value && ...);
        } else {
            return false;
        }
    }
    static constexpr bool value = compare();
};

static_assert(same_shape<int (*)(stream, void*), CUresult (*)(CUstream, void*)>::value);
static_assert(!same_shape<int (*)(stream), CUresult (*)(CUstream, void*)>::value);
static_assert(!same_shape<int (*)(int), CUresult (*)(void*)>::value);
static_assert(!same_shape<int (*)(int*), CUresult (*)(cuuint64_t*)>::value);

static_assert(same_shape<device, CUdevice>::value && same_shape<device_ptr, CUdeviceptr>::value);
static_assert(same_shape<context, CUcontext>::value && same_shape<stream, CUstream>::value);
static_assert(same_shape<event, CUevent>::value && same_shape<graph, CUgraph>::value);
static_assert(same_shape<graph_node, CUgraphNode>::value && same_shape<host_fn, CUhostFn>::value);
static_assert(same_shape<graph_exec, CUgraphExec>::value);
static_assert(same_shape<user_object, CUuserObject>::value);
static_assert(sizeof(host_node_params) == sizeof(CUDA_HOST_NODE_PARAMS));
static_assert(offsetof(host_node_params, user_data) == offsetof(CUDA_HOST_NODE_PARAMS, userData));
static_assert(sizeof(exec_update_result) == sizeof(CUgraphExecUpdateResultInfo));
static_assert(offsetof(exec_update_result, error_node) ==
              offsetof(CUgraphExecUpdateResultInfo, errorNode));
static_assert(sizeof(graph_instantiate_params) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS));
static_assert(offsetof(graph_instantiate_params, error_node) ==
              offsetof(CUDA_GRAPH_INSTANTIATE_PARAMS, hErrNode_out));
static_assert(same_shape<result, CUresult>::value);
static_assert(same_shape<get_proc_address_fn, PFN_cuGetProcAddress_v12000>::value);

// What the core asks for.
#define HOSTLAUNCH_DRIVER_ENTRY(field, base, version, need, parameters)             \
    static_assert(same_shape<result(*) parameters, PFN_##base##_v##version>::value, \
                  "the signature of " #base " is not that of CUDA version " #version);
#include "driver/entries.def"
#undef HOSTLAUNCH_DRIVER_ENTRY

// What the embedded driver exports.
using namespace embedded;  // NOLINT: the list's vocabulary
static_assert(sizeof(embedded::edge_data) == sizeof(CUgraphEdgeData));
static_assert(sizeof(embedded::copy_params) == sizeof(CUDA_MEMCPY3D));
static_assert(offsetof(embedded::copy_params, to) == offsetof(CUDA_MEMCPY3D, dstXInBytes));
static_assert(offsetof(embedded::copy_end, address) == offsetof(CUDA_MEMCPY3D, srcDevice));
static_assert(offsetof(embedded::copy_end, height) == offsetof(CUDA_MEMCPY3D, srcHeight));
static_assert(offsetof(embedded::copy_params, depth) == offsetof(CUDA_MEMCPY3D, Depth));
static_assert(sizeof(embedded::flat_copy_params) == sizeof(CUDA_MEMCPY2D));
static_assert(offsetof(embedded::flat_copy_params, to) == offsetof(CUDA_MEMCPY2D, dstXInBytes));
static_assert(offsetof(embedded::flat_copy_end, pitch) == offsetof(CUDA_MEMCPY2D, srcPitch));
static_assert(sizeof(embedded::fill_params) == sizeof(CUDA_MEMSET_NODE_PARAMS_v1));
static_assert(offsetof(embedded::fill_params, width) == offsetof(CUDA_MEMSET_NODE_PARAMS, width));
static_assert(sizeof(embedded::value_params) == sizeof(CUstreamBatchMemOpParams));
static_assert(offsetof(embedded::value_params, address) ==
              offsetof(CUstreamBatchMemOpParams, waitValue.address));
static_assert(offsetof(embedded::value_params, value) ==
              offsetof(CUstreamBatchMemOpParams, writeValue.value64));
static_assert(offsetof(embedded::value_params, flags) ==
              offsetof(CUstreamBatchMemOpParams, waitValue.flags));
static_assert(sizeof(embedded::batch_params) == sizeof(CUDA_BATCH_MEM_OP_NODE_PARAMS));
static_assert(offsetof(embedded::batch_params, operations) ==
              offsetof(CUDA_BATCH_MEM_OP_NODE_PARAMS, paramArray));
static_assert(sizeof(embedded::memory_access) == sizeof(CUmemAccessDesc));
static_assert(sizeof(embedded::pool_params) == sizeof(CUmemPoolProps));
static_assert(offsetof(embedded::pool_params, most_bytes) == offsetof(CUmemPoolProps, maxSize));
static_assert(sizeof(embedded::allocation_params) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS));
static_assert(offsetof(embedded::allocation_params, address) ==
              offsetof(CUDA_MEM_ALLOC_NODE_PARAMS, dptr));
static_assert(sizeof(embedded::child_params) == sizeof(CUDA_CHILD_GRAPH_NODE_PARAMS));
static_assert(sizeof(embedded::node_params) == sizeof(CUgraphNodeParams));
static_assert(offsetof(embedded::node_params, copy.what) ==
              offsetof(CUgraphNodeParams, memcpy.copyParams));
static_assert(offsetof(embedded::node_params, fill.ctx) == offsetof(CUgraphNodeParams, memset.ctx));
#define HOSTLAUNCH_EMBEDDED_ENTRY(symbol, base, version, traits, parameters, arguments) \
    static_assert(same_shape<result(*) parameters, PFN_##base##_v##version>::value,     \
                  "the signature of an exported " #base " is not that of CUDA version " #version);
#include "embedded/entry_list.def"
#undef HOSTLAUNCH_EMBEDDED_ENTRY

// Every error name that the embedded driver knows, by its value.
#define HL_ERROR(code, name, text) static_assert(name == code);
#include "embedded/entries/error_names.def"
#undef HL_ERROR

static_assert(success == CUDA_SUCCESS);
static_assert(error_invalid_value == CUDA_ERROR_INVALID_VALUE);
static_assert(error_out_of_memory == CUDA_ERROR_OUT_OF_MEMORY);
static_assert(error_not_initialized == CUDA_ERROR_NOT_INITIALIZED);
static_assert(error_deinitialized == CUDA_ERROR_DEINITIALIZED);
static_assert(error_stub_library == CUDA_ERROR_STUB_LIBRARY);
static_assert(error_no_device == CUDA_ERROR_NO_DEVICE);
static_assert(error_invalid_device == CUDA_ERROR_INVALID_DEVICE);
static_assert(error_invalid_context == CUDA_ERROR_INVALID_CONTEXT);
static_assert(error_invalid_handle == CUDA_ERROR_INVALID_HANDLE);
static_assert(error_illegal_state == CUDA_ERROR_ILLEGAL_STATE);
static_assert(error_not_found == CUDA_ERROR_NOT_FOUND);
static_assert(error_not_ready == CUDA_ERROR_NOT_READY);
static_assert(error_illegal_address == CUDA_ERROR_ILLEGAL_ADDRESS);
static_assert(error_context_is_destroyed == CUDA_ERROR_CONTEXT_IS_DESTROYED);
static_assert(error_launch_failed == CUDA_ERROR_LAUNCH_FAILED);
static_assert(error_not_permitted == CUDA_ERROR_NOT_PERMITTED);
static_assert(error_not_supported == CUDA_ERROR_NOT_SUPPORTED);
static_assert(error_stream_capture_unsupported == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
static_assert(error_stream_capture_invalidated == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
static_assert(error_stream_capture_merge == CUDA_ERROR_STREAM_CAPTURE_MERGE);
static_assert(error_stream_capture_unmatched == CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
static_assert(error_stream_capture_unjoined == CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
static_assert(error_stream_capture_isolation == CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
static_assert(error_stream_capture_implicit == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
static_assert(error_captured_event == CUDA_ERROR_CAPTURED_EVENT);
static_assert(error_stream_capture_wrong_thread == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
static_assert(error_graph_exec_update_failure == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
static_assert(error_unknown == CUDA_ERROR_UNKNOWN);

template <class Enum>
constexpr int number(Enum value) {
    return static_cast<int>(value);
}

static_assert(number(capture_status::none) == CU_STREAM_CAPTURE_STATUS_NONE);
static_assert(number(capture_status::active) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
static_assert(number(capture_status::invalidated) == CU_STREAM_CAPTURE_STATUS_INVALIDATED);
static_assert(number(capture_mode::global) == CU_STREAM_CAPTURE_MODE_GLOBAL);
static_assert(number(capture_mode::thread_local_mode) == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
static_assert(number(capture_mode::relaxed) == CU_STREAM_CAPTURE_MODE_RELAXED);
static_assert(number(proc_address_result::found) == CU_GET_PROC_ADDRESS_SUCCESS);
static_assert(number(proc_address_result::not_found) == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
static_assert(number(proc_address_result::version_not_sufficient) ==
              CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);

static_assert(exec_update_success == CU_GRAPH_EXEC_UPDATE_SUCCESS);
static_assert(exec_update_error == CU_GRAPH_EXEC_UPDATE_ERROR);
static_assert(exec_update_topology_changed == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
static_assert(exec_update_node_type_changed == CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
static_assert(exec_update_parameters_changed == CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED);

static_assert(stream_default == CU_STREAM_DEFAULT);
static_assert(stream_non_blocking == CU_STREAM_NON_BLOCKING);
static_assert(event_default == CU_EVENT_DEFAULT);
static_assert(event_blocking_sync == CU_EVENT_BLOCKING_SYNC);
static_assert(event_disable_timing == CU_EVENT_DISABLE_TIMING);
static_assert(event_wait_default == CU_EVENT_WAIT_DEFAULT);
static_assert(mem_host_alloc_portable == CU_MEMHOSTALLOC_PORTABLE);
static_assert(mem_host_alloc_device_map == CU_MEMHOSTALLOC_DEVICEMAP);
static_assert(user_object_no_destructor_sync == CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
static_assert(graph_user_object_move == CU_GRAPH_USER_OBJECT_MOVE);

}  // namespace
}  // namespace hostlaunch::abi
