// SPDX-License-Identifier: Apache-2.0
// Checks the parameters of nodes.
#include "embedded/entries/node_actions.hpp"

#include "embedded/engine/contexts.hpp"
#include "embedded/engine/graphs.hpp"
#include "embedded/engine/limits.hpp"
#include "embedded/engine/memory.hpp"
#include "embedded/engine/pools.hpp"
#include "embedded/entries/arguments.hpp"

namespace hostlaunch::embedded {

result action_of(const host_node_params* params, node_action& out) {
    if (params == nullptr || params->fn == nullptr) {
        return error_invalid_value;
    }
    out.kind = node_kind::host;
    out.what.kind = work_kind::host;
    out.what.host = {params->fn, nullptr, nullptr, params->user_data};
    return success;
}

result action_of(const copy_params* params, node_action& out) {
    const auto copy = params != nullptr ? copy_of(*params) : std::nullopt;
    if (!copy || !is_valid(*copy)) {
        return error_invalid_value;
    }
    out.kind = node_kind::copy;
    out.what = copy->what;
    return success;
}

result action_of(const fill_params* params, node_action& out) {
    if (params == nullptr) {
        return error_invalid_value;
    }
    out.kind = node_kind::fill;
    out.what = fill_of(*params);
    return is_valid(out.what.fill) ? success : error_invalid_value;
}

result action_of(const batch_params* params, node_action& out) {
    result why;
    if (params == nullptr || params->operations == nullptr || params->flags != 0 ||
        params->count == 0 || params->count > most_values ||
        (params->ctx != nullptr && find_context(params->ctx, why) == nullptr)) {
        return error_invalid_value;
    }
    out.kind = node_kind::value;
    out.ctx = params->ctx;
    out.values.assign(params->operations, params->operations + params->count);
    return check_values(out.values.data(), out.values.size());
}

result event_action(node_kind kind, event e, node_action& out) {
    result why;
    out.kind = kind;
    out.target = e;
    return find_event(e, why) != nullptr ? success : error_invalid_value;
}

result allocate_action(allocation_params* params, node_action& out) {
    if (params == nullptr || params->bytes == 0) {
        return error_invalid_value;
    }
    const pool_params& pool = params->pool;
    result why;
    if (pools_of(pool.location, pool.allocation_type, why) == nullptr) {
        return why;
    }
    if (params->bytes > device_memory_bytes) {
        return error_out_of_memory;
    }
    const device dev = pool.location.type == location_device ? pool.location.id : 0;
    out.kind = node_kind::allocate;
    out.memory = std::make_shared<graph_memory>(params->bytes, dev);
    out.memory->pool = pool;
    params->address = reinterpret_cast<std::uintptr_t>(out.memory->memory);
    return success;
}

result free_action(device_ptr memory, node_action& out) {
    std::uintptr_t first = 0;
    const allocation* found = find_allocation(as_pointer(memory), first);
    if (found == nullptr || first != memory || found->kind == memory_kind::host ||
        found->kind == memory_kind::registered) {
        return error_invalid_value;
    }
    out.kind = node_kind::free;
    out.freed = memory;
    out.memory = found->of_graph != nullptr ? found->of_graph->shared_from_this() : nullptr;
    return success;
}

result action_of(node_params& params, node_action& out) {
    switch (static_cast<node_kind>(params.type)) {
        case node_kind::host:
            return action_of(&params.host, out);
        case node_kind::copy:
            return action_of(&params.copy.what, out);
        case node_kind::fill:
            return action_of(&params.fill.what, out);
        case node_kind::value:
            return action_of(&params.batch, out);
        case node_kind::empty:
            out.kind = node_kind::empty;
            return success;
        case node_kind::wait_event:
        case node_kind::record_event:
            return event_action(static_cast<node_kind>(params.type), params.on, out);
        case node_kind::allocate:
            return allocate_action(&params.allocation, out);
        case node_kind::free:
            return free_action(params.freed, out);
        default:
            return error_not_supported;  // kernels, semaphores, conditions
    }
}

result child_of(const child_params& params, node_state& node) {
    constexpr int clone = 0;
    constexpr int move = 1;
    result why;
    graph_state* child = find_graph(params.child, why);
    if (child == nullptr || (params.ownership != clone && params.ownership != move)) {
        return error_invalid_value;
    }
    if (params.ownership == move || has_memory_nodes(*child)) {
        return error_not_supported;
    }
    node.action.kind = node_kind::child;
    node.child = copy_nodes(*child);
    node.child->is_child = true;
    return success;
}

}  // namespace hostlaunch::embedded
