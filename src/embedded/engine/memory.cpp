// SPDX-License-Identifier: Apache-2.0
// Allocates, frees and finds memory: device memory is host memory here.
#include "embedded/engine/memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "embedded/engine/capture.hpp"
#include "embedded/engine/contexts.hpp"
#include "embedded/engine/limits.hpp"
#include "embedded/engine/waits.hpp"

namespace hostlaunch::embedded {

namespace {

constexpr std::size_t alignment = 256;

// After a sticky error a wait ends early, but a copy that has begun goes on for a moment, in
// another context too.
bool is_being_copied(const driver& d, std::uintptr_t first, std::size_t bytes) {
    return std::any_of(d.contexts.begin(), d.contexts.end(), [&](const context_state* ctx) {
        return std::any_of(ctx->streams.begin(), ctx->streams.end(), [&](const stream_state* s) {
            return s->busy && uses_memory(*s, first, bytes);
        });
    });
}

}  // namespace

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

}  // namespace hostlaunch::embedded
