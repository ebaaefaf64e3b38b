// SPDX-License-Identifier: Apache-2.0
// Memory that is allocated and freed in stream order, and the pools that it comes from.
//
// A block is a piece of memory that a pool owns: in use, or spare. It becomes spare when the call
// that frees it is made; a give_back operation in that call's stream says when the stream is done
// with it. Until then it is good for later work of that stream only, afterwards for everybody.
// Spare memory above the release threshold goes back at a synchronisation.
//
// requires the driver's mutex everywhere.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "embedded/engine/driver.hpp"

namespace hostlaunch::embedded {

struct pool_block {
    void* memory = nullptr;
    std::size_t bytes = 0;
    memory_pool_state* pool = nullptr;  // null: of no pool, but freed in stream order all the same
    bool in_use = true;
    std::uint64_t frees = 0;      // so far; the last one is under way until it is completed
    std::uint64_t completed = 0;  // the last free that a stream has got to
    int queued = 0;               // give_back operations in queues
    std::uint64_t freed_in = 0;   // the id of the stream of the last free

    bool is_spare() const { return !in_use && completed == frees; }
};

// CUmemPool_attribute: the three about reuse, and the threshold.
struct pool_settings {
    int follow_events = 1;
    int opportunistic = 1;
    int internal_dependencies = 1;
    std::uint64_t release_threshold = 0;
};

// Life: registered -> destroyed (handle gone, memory in use) -> freed with its last block.
struct memory_pool_state {
    memory_pool handle = nullptr;
    memory_location location{};
    int allocation_type = 0;
    std::size_t most_bytes = 0;  // 0: as much as there is
    bool belongs_to_place = false;
    bool destroyed = false;
    pool_settings settings;
    amount reserved;
    amount used;
    std::vector<pool_block*> blocks;  // all of them
    std::map<device, int> access;     // of other devices
};

// Memory of a node that allocates: the same address at each launch, for as long as a graph or an
// executable has the node. What a launch has allocated and nothing has freed is in use.
struct graph_memory : std::enable_shared_from_this<graph_memory> {
    pool_params pool{};  // as the node was given
    void* memory = nullptr;
    std::size_t bytes = 0;
    device owner = 0;
    bool in_use = false;
    int execs = 0;  // executables with the node

    graph_memory(std::size_t size, device dev);  // throws std::bad_alloc
    graph_memory(const graph_memory&) = delete;
    graph_memory& operator=(const graph_memory&) = delete;
    ~graph_memory();
    void use(bool on);
};

memory_pool_state* find_pool(memory_pool pool, result& why);
// Null, and `why`, if there is no such place.
place_pools* pools_of(const memory_location& location, int allocation_type, result& why);

memory_pool_state& create_pool(const memory_location& location, int allocation_type);
void destroy_pool(memory_pool_state& pool);
// Gives spare memory back until no more than that many bytes are reserved.
void trim_pool(memory_pool_state& pool, std::uint64_t keep);
// At a synchronisation: what is spare above each pool's threshold goes back.
void trim_pools();

// Memory for work that is enqueued in the stream from now on.
result allocate_from(memory_pool_state& pool, std::size_t bytes, const stream_state& s, void** out);
// Frees in stream order. The mutex may be released and retaken.
result free_in(lock& held, stream_state& s, void* memory);
// The block of an allocation that was freed at once.
void end_block(pool_block& block);

}  // namespace hostlaunch::embedded
