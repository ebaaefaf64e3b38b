// SPDX-License-Identifier: Apache-2.0
// Our declarations of the little that NVTX 3 and its tools agree on, checked against its headers by
// a test.
//
// A tool is a library that the environment names. It is handed a function that gives it tables of
// places for function pointers, puts its own functions into those places, and is called through
// them from then on.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hostlaunch::diagnosis::nvtx_abi {

inline constexpr std::uint16_t version = 3;
inline constexpr const char* path_variable = "NVTX_INJECTION64_PATH";
inline constexpr const char* entry = "InitializeInjectionNvtx2";

using any_function = void (*)();
using slots = any_function**;  // places by number; place 0 is null

using get_export_table = const void* (*)(std::uint32_t id);
using initialize_injection = int (*)(get_export_table tables);  // 0: the tool does not want to

enum export_table : std::uint32_t { callbacks_table = 1, version_table = 3 };
enum module_id : int { core = 1, cuda = 2, opencl = 3, cudart = 4, core2 = 5, sync = 6 };
inline constexpr unsigned slots_of_module[] = {0, 16, 9, 15, 7, 16, 7};

struct callbacks {
    std::size_t size;
    int (*get_slots)(int module, slots* out, unsigned* out_count);  // 0: no such module
};

struct version_info {
    std::size_t size;
    std::uint32_t version;
    std::uint32_t reserved;
    void (*set_tool_version)(std::uint32_t version);
};

// Places in module core2.
enum core2_slot : unsigned {
    domain_range_push = 4,
    domain_range_pop = 5,
    domain_register_string = 10,
    domain_create = 12,
};

using domain = void*;
using registered_string = void*;

enum message_type : std::int32_t { ascii_message = 1, registered_message = 3 };

struct event_attributes {
    std::uint16_t version;
    std::uint16_t size;
    std::uint32_t category;
    std::int32_t color_type;
    std::uint32_t color;
    std::int32_t payload_type;
    std::int32_t reserved;
    std::uint64_t payload;
    std::int32_t message_type;
    const void* message;  // by message_type: a text, or a string that the tool has registered
};

using push_fn = int (*)(domain d, const event_attributes* event);
using pop_fn = int (*)(domain d);
using register_string_fn = registered_string (*)(domain d, const char* text);
using create_domain_fn = domain (*)(const char* name);

}  // namespace hostlaunch::diagnosis::nvtx_abi
