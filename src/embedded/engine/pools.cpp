// SPDX-License-Identifier: Apache-2.0
// Pools of memory: finding a block for an allocation, and taking it back in stream order.
#include "embedded/engine/pools.hpp"

#include <algorithm>
#include <memory>

#include "embedded/engine/limits.hpp"
#include "embedded/engine/memory.hpp"
#include "embedded/engine/queues.hpp"

namespace hostlaunch::embedded {

namespace {

constexpr std::size_t granularity = 512;

std::uintptr_t key_of(const void* memory) {
    return reinterpret_cast<std::uintptr_t>(memory);
}

bool is_host(const memory_location& location) {
    return location.type != location_device && location.type != location_none;
}

bool is_place(const memory_location& location) {
    const auto devices = static_cast<int>(the_driver().devices.size());
    switch (location.type) {
        case location_device:
            return location.id >= 0 && location.id < devices;
        case location_none:  // of managed memory: wherever it is used
        case location_host:
        case location_host_numa_current:
            return true;
        case location_host_numa:
            return location.id == 0;
        default:
            return false;
    }
}

void free_pool_if_done(memory_pool_state& pool) {
    if (pool.destroyed && pool.blocks.empty()) {
        std::erase(the_driver().pools, &pool);
        delete &pool;
    }
}

// requires: no operation in a queue points to it
void free_block(pool_block& block) {
    if (block.pool != nullptr) {
        block.pool->reserved.now -= block.bytes;
        std::erase(block.pool->blocks, &block);
    }
    give_memory_back(block.memory);
    delete &block;
}

// Whether work that the stream gets from now on may have the block.
bool is_free_for(const pool_block& block, const stream_state& s) {
    if (block.in_use) {
        return false;
    }
    const bool reached = block.is_spare() && block.pool->settings.opportunistic != 0;
    return reached || block.freed_in == s.id;
}

// The smallest that fits, and is not far too large.
pool_block* find_block(const memory_pool_state& pool, std::size_t bytes, const stream_state& s) {
    pool_block* best = nullptr;
    for (pool_block* block : pool.blocks) {
        const bool fits = block->bytes >= bytes && block->bytes / 2 <= bytes;
        if (fits && is_free_for(*block, s) && (best == nullptr || block->bytes < best->bytes)) {
            best = block;
        }
    }
    return best;
}

pool_block* new_block(memory_pool_state& pool, std::size_t bytes) {
    const std::size_t limit = pool.most_bytes != 0 ? pool.most_bytes : device_memory_bytes;
    if (bytes > limit || pool.reserved.now > limit - bytes) {
        trim_pool(pool, 0);
    }
    if (bytes > limit || pool.reserved.now > limit - bytes) {
        return nullptr;
    }
    auto made = std::make_unique<pool_block>();
    pool.blocks.reserve(pool.blocks.size() + 1);
    made->memory = take_memory(bytes);
    if (made->memory == nullptr) {
        return nullptr;
    }
    made->bytes = bytes;
    made->pool = &pool;
    made->in_use = false;
    pool.reserved.add(bytes);
    pool.blocks.push_back(made.get());
    return made.release();
}

// An allocation of no pool, to be freed in stream order.
pool_block& block_of(void* memory, std::size_t bytes) {
    auto made = std::make_unique<pool_block>();
    made->memory = memory;
    made->bytes = bytes;
    return *made.release();
}

device device_of(const memory_pool_state& pool) {
    return pool.location.type == location_device ? pool.location.id : 0;
}

}  // namespace

graph_memory::graph_memory(std::size_t size, device dev) : bytes(size), owner(dev) {
    memory = take_memory(size);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    driver& d = the_driver();
    try {
        d.memory[key_of(memory)] = {bytes, memory_kind::of_graph, false,   0,   nullptr,
                                    dev,   d.next_id++,           nullptr, this};
    } catch (const std::bad_alloc&) {
        give_memory_back(memory);
        throw;
    }
    d.devices[static_cast<std::size_t>(dev)].graph_memory_reserved.add(size);
}

graph_memory::~graph_memory() {
    use(false);
    driver& d = the_driver();
    d.devices[static_cast<std::size_t>(owner)].graph_memory_reserved.now -= bytes;
    d.memory.erase(key_of(memory));
    give_memory_back(memory);
}

void graph_memory::use(bool on) {
    amount& used = the_driver().devices[static_cast<std::size_t>(owner)].graph_memory_used;
    if (on && !in_use) {
        used.add(bytes);
    } else if (!on && in_use) {
        used.now -= bytes;
    }
    in_use = on;
}

memory_pool_state* find_pool(memory_pool pool, result& why) {
    return static_cast<memory_pool_state*>(
        the_driver().handles.find(handle_kind::pool, handle_bits(pool), why));
}

place_pools* pools_of(const memory_location& location, int allocation_type, result& why) {
    const bool managed = allocation_type == allocation_managed;
    if (!is_place(location) || (location.type == location_none && !managed) ||
        (!managed && allocation_type != allocation_pinned)) {
        why = location.type == location_device ? error_invalid_device : error_invalid_value;
        return nullptr;
    }
    driver& d = the_driver();
    for (place_pools& p : d.places) {
        if (p.location == location && p.allocation_type == allocation_type) {
            return &p;
        }
    }
    d.places.reserve(d.places.size() + 1);
    memory_pool_state& own = create_pool(location, allocation_type);
    own.belongs_to_place = true;
    d.places.push_back({location, allocation_type, &own, &own});
    return &d.places.back();
}

memory_pool_state& create_pool(const memory_location& location, int allocation_type) {
    driver& d = the_driver();
    auto made = std::make_unique<memory_pool_state>();
    made->location = location;
    made->allocation_type = allocation_type;
    d.pools.reserve(d.pools.size() + 1);
    made->handle = make_handle<memory_pool>(d.handles.add(handle_kind::pool, made.get()));
    d.pools.push_back(made.get());
    return *made.release();
}

void destroy_pool(memory_pool_state& pool) {
    driver& d = the_driver();
    d.handles.remove(handle_bits(pool.handle));
    for (place_pools& p : d.places) {
        p.current = p.current == &pool ? p.own : p.current;
    }
    pool.destroyed = true;
    trim_pool(pool, 0);
    free_pool_if_done(pool);
}

void trim_pool(memory_pool_state& pool, std::uint64_t keep) {
    for (std::size_t i = pool.blocks.size(); i > 0 && pool.reserved.now > keep; --i) {
        pool_block& block = *pool.blocks[i - 1];
        if (block.is_spare() && block.queued == 0) {
            free_block(block);
        }
    }
}

void trim_pools() {
    driver& d = the_driver();
    if (!d.pools_have_spare) {
        return;
    }
    d.pools_have_spare = false;
    for (memory_pool_state* pool : d.pools) {
        trim_pool(*pool, pool->settings.release_threshold);
    }
}

result allocate_from(memory_pool_state& pool, std::size_t bytes, const stream_state& s,
                     void** out) {
    if (bytes > device_memory_bytes) {
        return error_out_of_memory;
    }
    driver& d = the_driver();
    const std::size_t rounded = (bytes + granularity - 1) / granularity * granularity;
    pool_block* block = find_block(pool, rounded, s);
    block = block != nullptr ? block : new_block(pool, rounded);
    if (block == nullptr) {
        return error_out_of_memory;
    }
    const bool on_host = is_host(pool.location);
    d.memory[key_of(block->memory)] = {bytes,   memory_kind::pooled, on_host,     0,
                                       nullptr, device_of(pool),     d.next_id++, block,
                                       nullptr};
    // One that is still on its way back counts as used all along.
    if (block->is_spare()) {
        pool.used.add(block->bytes);
    }
    block->in_use = true;
    *out = block->memory;
    return success;
}

result free_in(lock& held, stream_state& s, void* memory) {
    driver& d = the_driver();
    const auto found = d.memory.find(key_of(memory));
    if (found == d.memory.end() || found->second.kind == memory_kind::host ||
        found->second.kind == memory_kind::registered) {
        return error_invalid_value;
    }
    if (found->second.kind == memory_kind::of_graph) {
        const bool allocated = found->second.of_graph->in_use;
        found->second.of_graph->use(false);
        return allocated ? success : error_invalid_value;
    }
    reserve_operations(s, 1, 0);
    pool_block& block = found->second.block != nullptr ? *found->second.block
                                                       : block_of(memory, found->second.bytes);
    d.memory.erase(found);
    block.in_use = false;
    block.freed_in = s.id;
    ++block.frees;
    ++block.queued;
    work w{};
    w.kind = work_kind::give_back;
    w.give_back = {&block, block.frees};
    begin_append(s);
    append_work(s, w);
    drain(held);
    return success;
}

void complete_free(const work::give_back_work& w) {
    pool_block& block = *w.block;
    --block.queued;
    block.completed = w.free > block.completed ? w.free : block.completed;
    if (block.in_use || w.free != block.frees) {
        return;  // it has another user by now, or had
    }
    if (block.pool == nullptr) {
        free_block(block);
        return;
    }
    memory_pool_state& pool = *block.pool;
    pool.used.now -= block.bytes;
    the_driver().pools_have_spare = true;
    if (pool.destroyed) {
        trim_pool(pool, 0);
        free_pool_if_done(pool);
    }
}

void end_block(pool_block& block) {
    block.in_use = false;
    block.freed_in = 0;
    ++block.frees;
    ++block.queued;
    complete_free({&block, block.frees});
}

}  // namespace hostlaunch::embedded
