// SPDX-License-Identifier: Apache-2.0
// Entry points that allocate and free.
#include "embedded/engine/memory.hpp"

#include <algorithm>

#include "embedded/engine/contexts.hpp"
#include "embedded/engine/limits.hpp"
#include "embedded/entries/calls.hpp"

namespace hostlaunch::embedded {

namespace calls {

result cuMemAlloc_v2(device_ptr* out, std::size_t bytes) {
    void* memory = nullptr;
    const result answer = allocate(out == nullptr ? nullptr : &memory, bytes, false, true);
    if (answer == success) {
        *out = reinterpret_cast<std::uintptr_t>(memory);
    }
    return answer;
}

result cuMemFree_v2(device_ptr p) {
    return release(reinterpret_cast<void*>(static_cast<std::uintptr_t>(p)), false);
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
    return allocate(out, bytes, true, true);
}

result cuMemAllocHost_v2(void** out, std::size_t bytes) {
    return allocate(out, bytes, true, true);
}

result cuMemFreeHost(void* p) {
    return release(p, true);
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

}  // namespace calls

}  // namespace hostlaunch::embedded
