// SPDX-License-Identifier: Apache-2.0
// Entry points that tell what lies behind an address.
#include "embedded/engine/memory.hpp"
#include "embedded/engine/pools.hpp"
#include "embedded/entries/arguments.hpp"
#include "embedded/entries/calls.hpp"

namespace hostlaunch::embedded {

namespace {

// CUpointer_attribute
enum : int {
    of_context = 1,
    of_memory_type = 2,
    device_pointer = 3,
    host_pointer = 4,
    sync_operations = 6,
    buffer_id = 7,
    is_managed = 8,
    device_ordinal = 9,
    is_ipc_capable = 10,
    range_start = 11,
    range_bytes = 12,
    is_mapped = 13,
    allowed_handle_types = 14,
    is_rdma_capable = 15,
    access_flags = 16,
    of_pool = 17,
    mapping_bytes = 18,
    mapping_base = 19,
    block_id = 20,
    is_decompress_capable = 21,
};

struct found_memory {
    const allocation* what;
    std::uintptr_t first;
    device_ptr asked;
};

template <class T>
result write(void* out, T value) {
    *static_cast<T*>(out) = value;
    return success;
}

context context_of(const allocation& a) {
    return a.ctx != nullptr ? a.ctx->handle : nullptr;
}

memory_pool pool_of(const allocation& a) {
    const bool pooled = a.block != nullptr && a.block->pool != nullptr;
    return pooled ? a.block->pool->handle : nullptr;
}

// Managed memory, device memory too, has a host pointer only where the host may use it.
result tell_pointer(const found_memory& memory, int attribute, void* out) {
    const bool on_device = !memory.what->on_host && memory.what->kind != memory_kind::managed;
    if (attribute == host_pointer && on_device) {
        return error_invalid_value;
    }
    return write(out, memory.asked);
}

result tell(const found_memory& memory, int attribute, void* out) {
    const allocation& a = *memory.what;
    const bool managed = a.kind == memory_kind::managed;
    switch (attribute) {
        case of_context:
            return write(out, context_of(a));
        case of_memory_type:
            return write(out, a.on_host ? memory_type::host : memory_type::device);
        case device_pointer:
        case host_pointer:
            return tell_pointer(memory, attribute, out);
        case buffer_id:
        case block_id:
            return write(out, a.id);
        case is_managed:
            return write(out, managed ? 1u : 0u);
        case device_ordinal:
            return write(out, a.dev);
        case range_start:
        case mapping_base:
            return write(out, static_cast<device_ptr>(memory.first));
        case range_bytes:
        case mapping_bytes:
            return write(out, a.bytes);
        case is_mapped:
            return write(out, 1u);
        case access_flags:
            return write(out, access_read_write);
        case of_pool:
            return write(out, pool_of(a));
        case allowed_handle_types:
            return write(out, std::uint64_t{0});
        case sync_operations:
        case is_ipc_capable:
        case is_rdma_capable:
        case is_decompress_capable:
            return write(out, 0u);
        default:
            return error_invalid_value;
    }
}

// What a list of attributes says of an address that nobody allocated.
void tell_unknown(int attribute, void* out) {
    switch (attribute) {
        case device_ordinal:
            write(out, -2);  // CU_DEVICE_INVALID
            return;
        case of_memory_type:
        case sync_operations:
        case is_managed:
        case is_ipc_capable:
        case is_mapped:
        case is_rdma_capable:
        case access_flags:
        case is_decompress_capable:
            write(out, 0u);
            return;
        default:
            write(out, std::uint64_t{0});
    }
}

bool is_attribute(int attribute) {
    return attribute >= of_context && attribute <= is_decompress_capable && attribute != 5;
}

}  // namespace

namespace calls {

result cuPointerGetAttribute(void* out, int attribute, device_ptr pointer) {
    const lock held(the_driver().mutex);
    std::uintptr_t first = 0;
    const allocation* found = find_allocation(as_pointer(pointer), first);
    if (out == nullptr || found == nullptr) {
        return error_invalid_value;
    }
    return tell({found, first, pointer}, attribute, out);
}

result cuPointerGetAttributes(unsigned count, int* attributes, void** out, device_ptr pointer) {
    const lock held(the_driver().mutex);
    std::uintptr_t first = 0;
    const allocation* found = find_allocation(as_pointer(pointer), first);
    if (attributes == nullptr || out == nullptr) {
        return error_invalid_value;
    }
    for (unsigned i = 0; i < count; ++i) {
        if (out[i] == nullptr || !is_attribute(attributes[i])) {
            return error_invalid_value;
        }
        if (found == nullptr || tell({found, first, pointer}, attributes[i], out[i]) != success) {
            tell_unknown(attributes[i], out[i]);
        }
    }
    return success;
}

// All copies of memory are ordered here as the attribute asks for.
result cuPointerSetAttribute(const void* value, int attribute, device_ptr pointer) {
    const lock held(the_driver().mutex);
    std::uintptr_t first = 0;
    const bool known = find_allocation(as_pointer(pointer), first) != nullptr;
    return value != nullptr && attribute == sync_operations && known ? success
                                                                     : error_invalid_value;
}

result cuMemGetAddressRange_v2(device_ptr* base, std::size_t* bytes, device_ptr pointer) {
    const lock held(the_driver().mutex);
    std::uintptr_t first = 0;
    const allocation* found = find_allocation(as_pointer(pointer), first);
    if (found == nullptr) {
        return error_not_found;
    }
    if (base != nullptr) {
        *base = first;
    }
    if (bytes != nullptr) {
        *bytes = found->bytes;
    }
    return success;
}

}  // namespace calls

}  // namespace hostlaunch::embedded
