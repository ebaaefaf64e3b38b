// SPDX-License-Identifier: Apache-2.0
// Entry points that allocate and free.
#include "embedded/engine/memory.hpp"

#include <algorithm>

#include "embedded/engine/contexts.hpp"
#include "embedded/engine/limits.hpp"
#include "embedded/entries/arguments.hpp"
#include "embedded/entries/calls.hpp"

namespace hostlaunch::embedded {

namespace calls {

result cuMemAlloc_v2(device_ptr* out, std::size_t bytes) {
    void* memory = nullptr;
    const result answer =
        allocate(out == nullptr ? nullptr : &memory, bytes, memory_kind::device, 0);
    if (answer == success && out != nullptr) {
        *out = reinterpret_cast<std::uintptr_t>(memory);
    }
    return answer;
}

result cuMemFree_v2(device_ptr p) {
    return release(as_pointer(p), freed_as::device);
}

result cuMemGetInfo_v2(std::size_t* available, std::size_t* total) {
    const lock held(the_driver().mutex);
    result why;
    if (current_context(why) == nullptr || available == nullptr || total == nullptr) {
        return available == nullptr || total == nullptr ? error_invalid_value : why;
    }
    std::size_t used = 0;
    for (const auto& [address, a] : the_driver().memory) {
        used += a.on_host ? 0 : a.bytes;
    }
    *total = device_memory_bytes;
    *available = device_memory_bytes - std::min(used, device_memory_bytes);
    return success;
}

result cuMemHostAlloc(void** out, std::size_t bytes, unsigned flags) {
    constexpr unsigned write_combined = 4;
    constexpr unsigned known = mem_host_alloc_portable | mem_host_alloc_device_map | write_combined;
    if ((flags & ~known) != 0) {
        return error_invalid_value;
    }
    return allocate(out, bytes, memory_kind::host, flags);
}

result cuMemAllocHost_v2(void** out, std::size_t bytes) {
    return allocate(out, bytes, memory_kind::host, mem_host_alloc_device_map);
}

result cuMemFreeHost(void* p) {
    return release(p, freed_as::host);
}

result cuMemHostGetDevicePointer_v2(device_ptr* out, void* p, unsigned flags) {
    const lock held(the_driver().mutex);
    std::uintptr_t first = 0;
    const allocation* found = find_allocation(p, first);
    if (out == nullptr || flags != 0 || found == nullptr || !found->on_host) {
        return error_invalid_value;
    }
    *out = reinterpret_cast<std::uintptr_t>(p);
    return success;
}

// A host's memory for the device, which is the same here: page locks and flags change nothing.
result cuMemHostRegister_v2(void* p, std::size_t bytes, unsigned flags) {
    constexpr unsigned io_memory = 4;
    constexpr unsigned read_only = 8;
    constexpr unsigned known = mem_host_alloc_portable | mem_host_alloc_device_map | read_only;
    if ((flags & io_memory) != 0) {
        return error_not_supported;
    }
    return (flags & ~known) != 0 ? error_invalid_value : register_memory(p, bytes, flags);
}

result cuMemHostUnregister(void* p) {
    return release(p, freed_as::registered);
}

result cuMemHostGetFlags(unsigned* flags, void* p) {
    const lock held(the_driver().mutex);
    std::uintptr_t first = 0;
    const allocation* found = find_allocation(p, first);
    if (flags == nullptr || found == nullptr || !found->on_host) {
        return error_invalid_value;
    }
    *flags = found->flags | mem_host_alloc_device_map;  // all addresses are the device's too
    return success;
}

result cuMemAllocPitch_v2(device_ptr* out, std::size_t* pitch, std::size_t width,
                          std::size_t height, unsigned element_bytes) {
    constexpr std::size_t alignment = 512;
    const bool known = element_bytes == 4 || element_bytes == 8 || element_bytes == 16;
    if (pitch == nullptr || !known || width == 0 || height == 0 || width > device_memory_bytes) {
        return error_invalid_value;
    }
    const std::size_t row = (width + alignment - 1) / alignment * alignment;
    if (height > device_memory_bytes / row) {
        return error_out_of_memory;
    }
    const result answer = cuMemAlloc_v2(out, row * height);
    if (answer == success) {
        *pitch = row;
    }
    return answer;
}

}  // namespace calls

}  // namespace hostlaunch::embedded
