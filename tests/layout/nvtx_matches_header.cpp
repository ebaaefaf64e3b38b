// SPDX-License-Identifier: Apache-2.0
// Our declarations for NVTX say what its own headers say; compiled where these are found.
#include <nvtx3/nvToolsExt.h>

#include <cstddef>

#include "diagnosis/nvtx_abi.hpp"

namespace abi = hostlaunch::diagnosis::nvtx_abi;

static_assert(abi::version == NVTX_VERSION);
static_assert(sizeof(abi::event_attributes) == NVTX_EVENT_ATTRIB_STRUCT_SIZE);
static_assert(offsetof(abi::event_attributes, payload) == offsetof(nvtxEventAttributes_t, payload));
static_assert(offsetof(abi::event_attributes, message_type) ==
              offsetof(nvtxEventAttributes_t, messageType));
static_assert(offsetof(abi::event_attributes, message) == offsetof(nvtxEventAttributes_t, message));
static_assert(int{abi::ascii_message} == int{NVTX_MESSAGE_TYPE_ASCII} &&
              int{abi::registered_message} == int{NVTX_MESSAGE_TYPE_REGISTERED});
static_assert(int{abi::callbacks_table} == int{NVTX_ETID_CALLBACKS} &&
              int{abi::version_table} == int{NVTX_ETID_VERSIONINFO});
static_assert(sizeof(abi::callbacks) == sizeof(NvtxExportTableCallbacks));
static_assert(sizeof(abi::version_info) == sizeof(NvtxExportTableVersionInfo));
static_assert(int{abi::core} == int{NVTX_CB_MODULE_CORE} &&
              int{abi::cuda} == int{NVTX_CB_MODULE_CUDA} &&
              int{abi::opencl} == int{NVTX_CB_MODULE_OPENCL} &&
              int{abi::cudart} == int{NVTX_CB_MODULE_CUDART} &&
              int{abi::core2} == int{NVTX_CB_MODULE_CORE2} &&
              int{abi::sync} == int{NVTX_CB_MODULE_SYNC});
static_assert(abi::slots_of_module[abi::core] == NVTX_CBID_CORE_SIZE);
static_assert(abi::slots_of_module[abi::cuda] == NVTX_CBID_CUDA_SIZE);
static_assert(abi::slots_of_module[abi::opencl] == NVTX_CBID_OPENCL_SIZE);
static_assert(abi::slots_of_module[abi::cudart] == NVTX_CBID_CUDART_SIZE);
static_assert(abi::slots_of_module[abi::core2] == NVTX_CBID_CORE2_SIZE);
static_assert(abi::slots_of_module[abi::sync] == NVTX_CBID_SYNC_SIZE);
static_assert(int{abi::domain_range_push} == int{NVTX_CBID_CORE2_DomainRangePushEx});
static_assert(int{abi::domain_range_pop} == int{NVTX_CBID_CORE2_DomainRangePop});
static_assert(int{abi::domain_register_string} == int{NVTX_CBID_CORE2_DomainRegisterStringA});
static_assert(int{abi::domain_create} == int{NVTX_CBID_CORE2_DomainCreateA});
