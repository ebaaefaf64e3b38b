// SPDX-License-Identifier: Apache-2.0
// Entry points that tell and change what the nodes of a graph do.
#include "embedded/engine/graphs.hpp"
#include "embedded/engine/pools.hpp"
#include "embedded/entries/arguments.hpp"
#include "embedded/entries/calls.hpp"
#include "embedded/entries/node_actions.hpp"

namespace hostlaunch::embedded {

namespace {

// Calls read(node_state&, Out&) if there is such a node and a place for the answer.
template <class Out, class Read>
result read_node(graph_node node, node_kind kind, Out* out, Read read) {
    const lock held(the_driver().mutex);
    node_state* found = find_node(node);
    if (found == nullptr || found->action.kind != kind || out == nullptr) {
        return error_invalid_value;
    }
    read(*found, *out);
    return success;
}

// Changes a node to what `fill(node_action&)` says, if that returns SUCCESS.
template <class Fill>
result change_node(graph_node node, node_kind kind, Fill fill) {
    const lock held(the_driver().mutex);
    node_state* found = find_node(node);
    if (found == nullptr || found->action.kind != kind) {
        return error_invalid_value;
    }
    node_action fresh;
    const result filled = fill(fresh);
    if (filled == success) {
        found->action = std::move(fresh);
    }
    return filled;
}

template <class Params>
result change_params(graph_node node, node_kind kind, const Params* params) {
    return change_node(node, kind, [&](node_action& fresh) { return action_of(params, fresh); });
}

result change_event(graph_node node, node_kind kind, event e) {
    return change_node(node, kind,
                       [&](node_action& fresh) { return event_action(kind, e, fresh); });
}

result tell_event(graph_node node, node_kind kind, event* out) {
    return read_node(node, kind, out,
                     [](const node_state& found, event& e) { e = found.action.target; });
}

}  // namespace

namespace calls {

result cuGraphHostNodeGetParams(graph_node node, host_node_params* params) {
    return read_node(node, node_kind::host, params,
                     [](const node_state& found, host_node_params& out) {
                         out = {found.action.what.host.fn, found.action.what.host.user_data};
                     });
}

result cuGraphHostNodeSetParams(graph_node node, const host_node_params* params) {
    return change_params(node, node_kind::host, params);
}

result cuGraphMemcpyNodeGetParams(graph_node node, copy_params* params) {
    return read_node(node, node_kind::copy, params, [](const node_state& found, copy_params& out) {
        out = params_of(found.action.what.copy);
    });
}

result cuGraphMemcpyNodeSetParams(graph_node node, const copy_params* params) {
    return change_params(node, node_kind::copy, params);
}

result cuGraphMemsetNodeGetParams(graph_node node, fill_params* params) {
    return read_node(node, node_kind::fill, params, [](const node_state& found, fill_params& out) {
        out = params_of(found.action.what.fill);
    });
}

result cuGraphMemsetNodeSetParams(graph_node node, const fill_params* params) {
    return change_params(node, node_kind::fill, params);
}

// The array is the node's own, and changes with it.
result cuGraphBatchMemOpNodeGetParams(graph_node node, batch_params* params) {
    return read_node(node, node_kind::value, params, [](node_state& found, batch_params& out) {
        node_action& does = found.action;
        out = {does.ctx, static_cast<unsigned>(does.values.size()), does.values.data(), 0};
    });
}

result cuGraphBatchMemOpNodeSetParams(graph_node node, const batch_params* params) {
    return change_params(node, node_kind::value, params);
}

result cuGraphEventRecordNodeGetEvent(graph_node node, event* out) {
    return tell_event(node, node_kind::record_event, out);
}

result cuGraphEventRecordNodeSetEvent(graph_node node, event e) {
    return change_event(node, node_kind::record_event, e);
}

result cuGraphEventWaitNodeGetEvent(graph_node node, event* out) {
    return tell_event(node, node_kind::wait_event, out);
}

result cuGraphEventWaitNodeSetEvent(graph_node node, event e) {
    return change_event(node, node_kind::wait_event, e);
}

result cuGraphChildGraphNodeGetGraph(graph_node node, graph* out) {
    return read_node(node, node_kind::child, out,
                     [](const node_state& found, graph& g) { g = found.child->handle; });
}

result cuGraphMemAllocNodeGetParams(graph_node node, allocation_params* params) {
    return read_node(node, node_kind::allocate, params,
                     [](const node_state& found, allocation_params& out) {
                         const graph_memory& memory = *found.action.memory;
                         out = {memory.pool, nullptr, 0, memory.bytes,
                                reinterpret_cast<std::uintptr_t>(memory.memory)};
                     });
}

result cuGraphMemFreeNodeGetParams(graph_node node, device_ptr* out) {
    return read_node(node, node_kind::free, out,
                     [](const node_state& found, device_ptr& p) { p = found.action.freed; });
}

result cuGraphNodeSetParams(graph_node node, node_params* params) {
    if (params == nullptr) {
        return error_invalid_value;
    }
    const auto kind = static_cast<node_kind>(params->type);
    if (kind == node_kind::allocate || kind == node_kind::free) {
        return error_not_supported;
    }
    return change_node(node, kind, [&](node_action& fresh) { return action_of(*params, fresh); });
}

}  // namespace calls

}  // namespace hostlaunch::embedded
