// SPDX-License-Identifier: Apache-2.0
// Entry points about memory that is allocated and freed in stream order, and about its pools.
#include <algorithm>

#include "embedded/engine/capture.hpp"
#include "embedded/engine/contexts.hpp"
#include "embedded/engine/pools.hpp"
#include "embedded/entries/arguments.hpp"
#include "embedded/entries/calls.hpp"
#include "embedded/entries/node_actions.hpp"

namespace hostlaunch::embedded {

namespace {

// CUmemPool_attribute
enum : int {
    follow_events = 1,
    opportunistic = 2,
    internal_dependencies = 3,
    release_threshold = 4,
    reserved_now = 5,
    reserved_high = 6,
    used_now = 7,
    used_high = 8,
};

template <class Body>
result with_pool(memory_pool pool, Body body) {
    const lock held(the_driver().mutex);
    result why;
    memory_pool_state* found = find_pool(pool, why);
    return found == nullptr ? error_invalid_value : body(*found);
}

template <class Body>
result with_place(const memory_location* location, int type, Body body) {
    const lock held(the_driver().mutex);
    result why;
    place_pools* found = location == nullptr ? nullptr : pools_of(*location, type, why);
    return found != nullptr ? body(*found) : location == nullptr ? error_invalid_value : why;
}

result tell_pool(memory_pool* out, const memory_location* location, int type,
                 memory_pool_state* place_pools::* which) {
    return with_place(location, type, [&](const place_pools& found) {
        if (out == nullptr) {
            return error_invalid_value;
        }
        *out = (found.*which)->handle;
        return success;
    });
}

result set_pool(const memory_location* location, int type, memory_pool pool) {
    return with_place(location, type, [&](place_pools& found) {
        result why;
        memory_pool_state* given = find_pool(pool, why);
        if (given == nullptr || given->allocation_type != type) {
            return error_invalid_value;
        }
        found.current = given;
        return success;
    });
}

// As a node of the graph that is built. The memory is there at once, and as long as the graph.
result capture_allocation(stream_state& s, device_ptr* out, std::size_t bytes,
                          const memory_pool_state& pool) {
    allocation_params params{};
    params.pool.allocation_type = pool.allocation_type;
    params.pool.location = pool.location;
    params.bytes = bytes;
    node_action action;
    const result refused = refuse_work(s);
    const result made = refused != success ? refused : allocate_action(&params, action);
    if (made == success) {
        record_node(s, std::move(action));
        *out = params.address;
    }
    return made;
}

result allocate_in(stream_state& s, device_ptr* out, std::size_t bytes, memory_pool_state& pool) {
    if (out == nullptr || bytes == 0) {
        return error_invalid_value;
    }
    if (s.capture != nullptr) {
        return capture_allocation(s, out, bytes, pool);
    }
    void* memory = nullptr;
    const result answer = allocate_from(pool, bytes, s, &memory);
    if (answer == success) {
        *out = reinterpret_cast<std::uintptr_t>(memory);
    }
    return answer;
}

result allocate_async(device_ptr* out, std::size_t bytes, const memory_pool* pool, stream s) {
    const lock held(the_driver().mutex);
    result why;
    stream_state* found = find_stream(s, why);
    if (found == nullptr) {
        return why;
    }
    if (pool != nullptr) {
        memory_pool_state* given = find_pool(*pool, why);
        return given == nullptr ? error_invalid_value : allocate_in(*found, out, bytes, *given);
    }
    const memory_location here{location_device, found->ctx->dev};
    const place_pools* place = pools_of(here, allocation_pinned, why);
    return place == nullptr ? why : allocate_in(*found, out, bytes, *place->current);
}

result free_async(device_ptr memory, stream s) {
    lock held(the_driver().mutex);
    result why;
    stream_state* found = find_stream(s, why);
    if (found == nullptr) {
        return why;
    }
    if (memory == 0) {
        return error_invalid_value;
    }
    if (const result refused = refuse_work(*found); refused != success) {
        return refused;
    }
    if (found->capture == nullptr) {
        return free_in(held, *found, as_pointer(memory));
    }
    node_action action;
    const result wrong = free_action(memory, action);
    if (wrong == success) {
        record_node(*found, std::move(action));
    }
    return wrong;
}

result read_attribute(const memory_pool_state& pool, int attribute, void* value) {
    auto* number = static_cast<int*>(value);
    auto* bytes = static_cast<std::uint64_t*>(value);
    switch (attribute) {
        case follow_events:
            *number = pool.settings.follow_events;
            return success;
        case opportunistic:
            *number = pool.settings.opportunistic;
            return success;
        case internal_dependencies:
            *number = pool.settings.internal_dependencies;
            return success;
        case release_threshold:
            *bytes = pool.settings.release_threshold;
            return success;
        case reserved_now:
            *bytes = pool.reserved.now;
            return success;
        case reserved_high:
            *bytes = pool.reserved.high;
            return success;
        case used_now:
            *bytes = pool.used.now;
            return success;
        case used_high:
            *bytes = pool.used.high;
            return success;
        default:
            return error_invalid_value;
    }
}

// A high-water mark can only be set to zero, which starts it anew.
result reset(amount& of, std::uint64_t to) {
    of.high = to == 0 ? of.now : of.high;
    return to == 0 ? success : error_invalid_value;
}

result write_attribute(memory_pool_state& pool, int attribute, const void* value) {
    const auto number = [&] { return *static_cast<const int*>(value) != 0 ? 1 : 0; };
    const auto bytes = [&] { return *static_cast<const std::uint64_t*>(value); };
    switch (attribute) {
        case follow_events:
            pool.settings.follow_events = number();
            return success;
        case opportunistic:
            pool.settings.opportunistic = number();
            return success;
        case internal_dependencies:
            pool.settings.internal_dependencies = number();
            return success;
        case release_threshold:
            pool.settings.release_threshold = bytes();
            return success;
        case reserved_high:
            return reset(pool.reserved, bytes());
        case used_high:
            return reset(pool.used, bytes());
        default:
            return error_invalid_value;
    }
}

// CUgraphMem_attribute: used and reserved, each with its high-water mark behind it.
amount* graph_amount(device dev, int attribute) {
    auto& devices = the_driver().devices;
    constexpr int last = 3;
    if (dev < 0 || static_cast<std::size_t>(dev) >= devices.size() || attribute < 0 ||
        attribute > last) {
        return nullptr;
    }
    device_state& d = devices[static_cast<std::size_t>(dev)];
    return attribute < 2 ? &d.graph_memory_used : &d.graph_memory_reserved;
}

bool is_owner(const memory_pool_state& pool, const memory_location& location) {
    return pool.location.type == location_device ? pool.location == location
                                                 : location.type != location_device;
}

result make_pool(memory_pool* out, const pool_params* params) {
    const lock held(the_driver().mutex);
    result why;
    if (out == nullptr || params == nullptr) {
        return error_invalid_value;
    }
    if (params->handle_types != 0) {
        return error_not_supported;  // nothing is shared between processes
    }
    if (pools_of(params->location, params->allocation_type, why) == nullptr) {
        return why;
    }
    memory_pool_state& made = create_pool(params->location, params->allocation_type);
    made.most_bytes = params->most_bytes;
    *out = made.handle;
    return success;
}

}  // namespace

namespace calls {

result cuDeviceGetDefaultMemPool(memory_pool* out, device dev) {
    const memory_location place{location_device, dev};
    return tell_pool(out, &place, allocation_pinned, &place_pools::own);
}

result cuDeviceGetMemPool(memory_pool* out, device dev) {
    const memory_location place{location_device, dev};
    return tell_pool(out, &place, allocation_pinned, &place_pools::current);
}

result cuDeviceSetMemPool(device dev, memory_pool pool) {
    const memory_location place{location_device, dev};
    return set_pool(&place, allocation_pinned, pool);
}

result cuMemGetDefaultMemPool(memory_pool* out, memory_location* location, int type) {
    return tell_pool(out, location, type, &place_pools::own);
}

result cuMemGetMemPool(memory_pool* out, memory_location* location, int type) {
    return tell_pool(out, location, type, &place_pools::current);
}

result cuMemSetMemPool(memory_location* location, int type, memory_pool pool) {
    return set_pool(location, type, pool);
}

result cuMemPoolCreate(memory_pool* out, const pool_params* params) {
    return make_pool(out, params);
}

result cuMemPoolDestroy(memory_pool pool) {
    return with_pool(pool, [](memory_pool_state& found) {
        if (found.belongs_to_place) {
            return error_invalid_value;
        }
        destroy_pool(found);
        return success;
    });
}

result cuMemPoolGetAttribute(memory_pool pool, int attribute, void* value) {
    return with_pool(pool, [&](const memory_pool_state& found) {
        return value == nullptr ? error_invalid_value : read_attribute(found, attribute, value);
    });
}

result cuMemPoolSetAttribute(memory_pool pool, int attribute, void* value) {
    return with_pool(pool, [&](memory_pool_state& found) {
        return value == nullptr ? error_invalid_value : write_attribute(found, attribute, value);
    });
}

result cuMemPoolSetAccess(memory_pool pool, const memory_access* access, std::size_t count) {
    return with_pool(pool, [&](memory_pool_state& found) {
        if (access == nullptr && count != 0) {
            return error_invalid_value;
        }
        const auto devices = static_cast<int>(the_driver().devices.size());
        for (std::size_t i = 0; i < count; ++i) {
            const memory_location& whose = access[i].location;
            const bool is_device =
                whose.type == location_device && whose.id >= 0 && whose.id < devices;
            const bool revokes = access[i].flags == access_none;
            if (!is_device || (is_owner(found, whose) && revokes)) {
                return is_device ? error_invalid_device : error_invalid_value;
            }
            found.access[whose.id] = access[i].flags;
        }
        return success;
    });
}

result cuMemPoolGetAccess(int* flags, memory_pool pool, memory_location* location) {
    return with_pool(pool, [&](const memory_pool_state& found) {
        if (flags == nullptr || location == nullptr) {
            return error_invalid_value;
        }
        const auto given = found.access.find(location->id);
        const bool other = location->type == location_device && given != found.access.end();
        *flags = is_owner(found, *location) ? access_read_write
                 : other                    ? given->second
                                            : access_none;
        return success;
    });
}

result cuMemPoolTrimTo(memory_pool pool, std::size_t keep) {
    return with_pool(pool, [&](memory_pool_state& found) {
        trim_pool(found, keep);
        return success;
    });
}

result cuMemAllocAsync(device_ptr* out, std::size_t bytes, stream s) {
    return allocate_async(out, bytes, nullptr, s);
}

result cuMemAllocFromPoolAsync(device_ptr* out, std::size_t bytes, memory_pool pool, stream s) {
    return allocate_async(out, bytes, &pool, s);
}

result cuMemFreeAsync(device_ptr memory, stream s) {
    return free_async(memory, s);
}

result cuDeviceGetGraphMemAttribute(device dev, int attribute, void* value) {
    const lock held(the_driver().mutex);
    const amount* found = graph_amount(dev, attribute);
    if (found == nullptr || value == nullptr) {
        return error_invalid_value;
    }
    *static_cast<std::uint64_t*>(value) = attribute % 2 == 0 ? found->now : found->high;
    return success;
}

result cuDeviceSetGraphMemAttribute(device dev, int attribute, void* value) {
    const lock held(the_driver().mutex);
    amount* found = graph_amount(dev, attribute);
    const bool is_mark = attribute % 2 == 1;
    return found == nullptr || value == nullptr || !is_mark
               ? error_invalid_value
               : reset(*found, *static_cast<const std::uint64_t*>(value));
}

// Memory of graphs goes with them: there is none to spare.
result cuDeviceGraphMemTrim(device dev) {
    const lock held(the_driver().mutex);
    return graph_amount(dev, 0) == nullptr ? error_invalid_device : success;
}

}  // namespace calls

}  // namespace hostlaunch::embedded
