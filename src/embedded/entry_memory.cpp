// SPDX-License-Identifier: Apache-2.0
// Entry points that allocate and free: device memory is host memory here.
#include <algorithm>
#include <cstdlib>
#include <thread>

#include "embedded/capture.hpp"
#include "embedded/contexts.hpp"
#include "embedded/entry.hpp"
#include "embedded/limits.hpp"
#include "embedded/memory.hpp"

namespace hostlaunch::embedded {

namespace {

constexpr std::size_t alignment = 256;

result allocate(void** out, std::size_t bytes, bool on_host, bool mapped) {
    driver& d = the_driver();
    const lock held(d.mutex);
    result why;
    context_state* ctx = current_context(why);
    if (ctx == nullptr) {
        return why;
    }
    if (out == nullptr || bytes == 0) {
        return error_invalid_value;
    }
    if (bytes > device_memory_bytes) {
        return error_out_of_memory;
    }
    if (const result refused = refuse_unsafe(); refused != success) {
        return refused;
    }
    const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    void* const memory = std::aligned_alloc(alignment, rounded);
    if (memory == nullptr) {
        return error_out_of_memory;
    }
    try {
        d.memory[reinterpret_cast<std::uintptr_t>(memory)] = {bytes, ctx, on_host, mapped};
    } catch (const std::bad_alloc&) {
        std::free(memory);
        throw;
    }
    *out = memory;
    return success;
}

// After a sticky error a wait ends early, but a copy that has begun goes on for a moment, in
// another context too.
bool is_being_copied(const driver& d, std::uintptr_t first, std::size_t bytes) {
    return std::any_of(d.contexts.begin(), d.contexts.end(), [&](const context_state* ctx) {
        return std::any_of(ctx->streams.begin(), ctx->streams.end(), [&](const stream_state* s) {
            return s->busy && uses_memory(*s, first, bytes);
        });
    });
}

// Waits for all work of the context first, as the real driver does, and for what other contexts
// have enqueued that uses the memory: here it would write where something else is by then.
result release(void* memory, bool on_host) {
    if (memory == nullptr) {
        return success;
    }
    driver& d = the_driver();
    lock held(d.mutex);
    const auto key = reinterpret_cast<std::uintptr_t>(memory);
    auto found = d.memory.find(key);
    if (found == d.memory.end() || found->second.on_host != on_host) {
        return error_invalid_value;
    }
    if (const result refused = refuse_unsafe(); refused != success) {
        return refused;
    }
    const result waited = wait_for_users(held, *found->second.ctx, key, found->second.bytes);
    for (;;) {
        found = d.memory.find(key);
        if (found == d.memory.end()) {
            return waited != success ? waited : error_invalid_value;
        }
        if (!is_being_copied(d, key, found->second.bytes)) {
            break;
        }
        held.unlock();
        std::this_thread::yield();
        held.lock();
    }
    d.memory.erase(found);
    std::free(memory);
    return waited;
}

}  // namespace

const allocation* find_allocation(const void* address, std::uintptr_t& first) {
    const auto& memory = the_driver().memory;
    const auto key = reinterpret_cast<std::uintptr_t>(address);
    auto after = memory.upper_bound(key);
    if (after == memory.begin()) {
        return nullptr;
    }
    --after;
    first = after->first;
    return key < after->first + after->second.bytes ? &after->second : nullptr;
}

result cuMemAlloc_v2(device_ptr* out, std::size_t bytes) {
    return enter(
        entry_id::cuMemAlloc_v2,
        [&] {
            void* memory = nullptr;
            const result answer = allocate(out == nullptr ? nullptr : &memory, bytes, false, true);
            if (answer == success) {
                *out = reinterpret_cast<std::uintptr_t>(memory);
            }
            return answer;
        },
        out, bytes);
}

result cuMemFree_v2(device_ptr p) {
    return enter(
        entry_id::cuMemFree_v2,
        [&] { return release(reinterpret_cast<void*>(static_cast<std::uintptr_t>(p)), false); }, p);
}

result cuMemGetInfo_v2(std::size_t* available, std::size_t* total) {
    return enter(
        entry_id::cuMemGetInfo_v2,
        [&] {
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
        },
        available, total);
}

result cuMemHostAlloc(void** out, std::size_t bytes, unsigned flags) {
    return enter(
        entry_id::cuMemHostAlloc,
        [&] {
            constexpr unsigned write_combined = 4;
            constexpr unsigned known =
                mem_host_alloc_portable | mem_host_alloc_device_map | write_combined;
            if ((flags & ~known) != 0) {
                return error_invalid_value;
            }
            return allocate(out, bytes, true, true);
        },
        out, bytes, flags);
}

result cuMemAllocHost_v2(void** out, std::size_t bytes) {
    return enter(
        entry_id::cuMemAllocHost_v2, [&] { return allocate(out, bytes, true, true); }, out, bytes);
}

result cuMemFreeHost(void* p) {
    return enter(entry_id::cuMemFreeHost, [&] { return release(p, true); }, p);
}

result cuMemHostGetDevicePointer_v2(device_ptr* out, void* p, unsigned flags) {
    return enter(
        entry_id::cuMemHostGetDevicePointer_v2,
        [&] {
            const lock held(the_driver().mutex);
            std::uintptr_t first = 0;
            const allocation* found = find_allocation(p, first);
            if (out == nullptr || flags != 0 || found == nullptr || !found->on_host) {
                return error_invalid_value;
            }
            *out = reinterpret_cast<std::uintptr_t>(p);
            return success;
        },
        out, p, flags);
}

}  // namespace hostlaunch::embedded
