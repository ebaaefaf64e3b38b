// SPDX-License-Identifier: Apache-2.0
// Allocates, registers, frees and finds memory: device memory is host memory here.
#include "embedded/engine/memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "embedded/engine/capture.hpp"
#include "embedded/engine/contexts.hpp"
#include "embedded/engine/limits.hpp"
#include "embedded/engine/pools.hpp"
#include "embedded/engine/waits.hpp"

namespace hostlaunch::embedded {

namespace {

constexpr std::size_t alignment = 256;

std::uintptr_t key_of(const void* memory) {
    return reinterpret_cast<std::uintptr_t>(memory);
}

allocation describe(context_state& ctx, std::size_t bytes, memory_kind kind, unsigned flags) {
    const bool on_host = kind == memory_kind::host || kind == memory_kind::registered;
    return {bytes, kind, on_host, flags, &ctx, ctx.dev, the_driver().next_id++, nullptr, nullptr};
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

bool can_free(const allocation& a, freed_as how) {
    switch (how) {
        case freed_as::host:
            return a.kind == memory_kind::host;
        case freed_as::registered:
            return a.kind == memory_kind::registered;
        case freed_as::device:
            return a.kind != memory_kind::host && a.kind != memory_kind::registered;
    }
    return false;
}

// requires: nothing uses it any more
void end_allocation(driver& d, std::map<std::uintptr_t, allocation>::iterator found) {
    const allocation a = found->second;
    void* const memory = reinterpret_cast<void*>(found->first);
    if (a.kind == memory_kind::of_graph) {
        a.of_graph->use(false);  // the graph keeps the memory itself
        return;
    }
    d.memory.erase(found);
    if (a.kind == memory_kind::pooled) {
        end_block(*a.block);
    } else if (a.kind != memory_kind::registered) {
        give_memory_back(memory);
    }
}

bool is_overlapped(const driver& d, const void* memory, std::size_t bytes) {
    const auto after = d.memory.lower_bound(key_of(memory));
    std::uintptr_t first = 0;
    return find_allocation(memory, first) != nullptr ||
           (after != d.memory.end() && after->first < key_of(memory) + bytes);
}

}  // namespace

void* take_memory(std::size_t bytes) {
    const std::size_t units = (std::max(bytes, std::size_t{1}) + alignment - 1) / alignment;
    return std::aligned_alloc(alignment, units * alignment);
}

void give_memory_back(void* memory) {
    std::free(memory);
}

result allocate(void** out, std::size_t bytes, memory_kind kind, unsigned flags) {
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
    void* const memory = take_memory(bytes);
    if (memory == nullptr) {
        return error_out_of_memory;
    }
    try {
        d.memory[key_of(memory)] = describe(*ctx, bytes, kind, flags);
    } catch (const std::bad_alloc&) {
        give_memory_back(memory);
        throw;
    }
    *out = memory;
    return success;
}

result register_memory(void* memory, std::size_t bytes, unsigned flags) {
    driver& d = the_driver();
    const lock held(d.mutex);
    result why;
    context_state* ctx = current_context(why);
    if (ctx == nullptr) {
        return why;
    }
    if (memory == nullptr || bytes == 0 || bytes > UINTPTR_MAX - key_of(memory)) {
        return error_invalid_value;
    }
    if (is_overlapped(d, memory, bytes)) {
        return error_host_memory_already_registered;
    }
    d.memory[key_of(memory)] = describe(*ctx, bytes, memory_kind::registered, flags);
    return success;
}

result release(void* memory, freed_as how) {
    if (memory == nullptr) {
        return how == freed_as::registered ? error_invalid_value : success;
    }
    driver& d = the_driver();
    lock held(d.mutex);
    const auto key = key_of(memory);
    auto found = d.memory.find(key);
    if (found == d.memory.end() || !can_free(found->second, how)) {
        const bool unknown = how == freed_as::registered;
        return unknown ? error_host_memory_not_registered : error_invalid_value;
    }
    if (const result refused = refuse_unsafe(); refused != success) {
        return refused;
    }
    result why = error_invalid_context;
    context_state* ctx = found->second.ctx != nullptr ? found->second.ctx : current_context(why);
    if (ctx == nullptr) {
        return why;
    }
    const result waited = wait_for_users(held, *ctx, key, found->second.bytes);
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
    end_allocation(d, found);
    return waited;
}

const allocation* find_allocation(const void* address, std::uintptr_t& first) {
    const auto& memory = the_driver().memory;
    auto after = memory.upper_bound(key_of(address));
    if (after == memory.begin()) {
        return nullptr;
    }
    --after;
    first = after->first;
    return key_of(address) < after->first + after->second.bytes ? &after->second : nullptr;
}

bool is_range(const void* begin, std::size_t bytes, place where) {
    std::uintptr_t first = 0;
    const allocation* found = find_allocation(begin, first);
    if (found == nullptr) {
        return where == place::anywhere && begin != nullptr;
    }
    return bytes <= found->bytes - (key_of(begin) - first);
}

bool is_on_host(const void* begin) {
    std::uintptr_t first = 0;
    const allocation* found = find_allocation(begin, first);
    return found == nullptr || found->on_host;
}

void free_memory_of(const context_state& ctx) {
    auto& memory = the_driver().memory;
    for (auto it = memory.begin(); it != memory.end();) {
        if (it->second.ctx != &ctx) {
            ++it;
            continue;
        }
        if (it->second.kind != memory_kind::registered) {
            give_memory_back(reinterpret_cast<void*>(it->first));
        }
        it = memory.erase(it);
    }
}

}  // namespace hostlaunch::embedded
