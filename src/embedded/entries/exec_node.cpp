// SPDX-License-Identifier: Apache-2.0
// Entry points that change what the nodes of an executable do from its next launch on.
#include "embedded/engine/contexts.hpp"
#include "embedded/engine/execs.hpp"
#include "embedded/engine/graphs.hpp"
#include "embedded/entries/calls.hpp"
#include "embedded/entries/node_actions.hpp"

namespace hostlaunch::embedded {

namespace {

// Calls body(exec_state&, node_state&) with the executable's copy of a node of that kind.
template <class Body>
result with_copy_of(graph_exec exec, graph_node node, node_kind kind, Body body) {
    const lock held(the_driver().mutex);
    exec_state* found = find_exec(exec);
    const node_state* original = find_node(node);
    if (found == nullptr || original == nullptr || original->action.kind != kind) {
        return error_invalid_value;
    }
    node_state* copy = find_copy(*found->nodes, node, true);
    return copy == nullptr ? error_invalid_value : body(*found, *copy);
}

template <class Fill>
result change_copy(graph_exec exec, graph_node node, node_kind kind, Fill fill) {
    return with_copy_of(exec, node, kind, [&](const exec_state&, node_state& copy) {
        node_action fresh;
        const result filled = fill(fresh);
        if (filled != success) {
            return filled;
        }
        return set_action(copy, fresh) ? success : error_invalid_value;
    });
}

template <class Params>
result change_params(graph_exec exec, graph_node node, node_kind kind, const Params* params) {
    return change_copy(exec, node, kind,
                       [&](node_action& fresh) { return action_of(params, fresh); });
}

result change_event(graph_exec exec, graph_node node, node_kind kind, event e) {
    return change_copy(exec, node, kind,
                       [&](node_action& fresh) { return event_action(kind, e, fresh); });
}

result change_child(graph_exec exec, graph_node node, graph child) {
    return with_copy_of(exec, node, node_kind::child, [&](exec_state& found, node_state& copy) {
        result why;
        const graph_state* by = find_graph(child, why);
        return by != nullptr && set_child(found, copy, *by) ? success : error_invalid_value;
    });
}

bool can_be_disabled(node_kind kind) {
    return kind == node_kind::copy || kind == node_kind::fill;
}

// Calls body(node_state&) with the executable's copy of a node that can be disabled.
template <class Body>
result with_switch(graph_exec exec, graph_node node, Body body) {
    const lock held(the_driver().mutex);
    exec_state* found = find_exec(exec);
    node_state* copy = found == nullptr ? nullptr : find_copy(*found->nodes, node, true);
    return copy != nullptr && can_be_disabled(copy->action.kind) ? body(*copy)
                                                                 : error_invalid_value;
}

}  // namespace

namespace calls {

result cuGraphExecHostNodeSetParams(graph_exec exec, graph_node node,
                                    const host_node_params* params) {
    return change_params(exec, node, node_kind::host, params);
}

result cuGraphExecMemcpyNodeSetParams(graph_exec exec, graph_node node, const copy_params* params,
                                      [[maybe_unused]] context ctx) {
    return change_params(exec, node, node_kind::copy, params);
}

result cuGraphExecMemsetNodeSetParams(graph_exec exec, graph_node node, const fill_params* params,
                                      [[maybe_unused]] context ctx) {
    return change_params(exec, node, node_kind::fill, params);
}

result cuGraphExecBatchMemOpNodeSetParams(graph_exec exec, graph_node node,
                                          const batch_params* params) {
    return change_params(exec, node, node_kind::value, params);
}

result cuGraphExecEventRecordNodeSetEvent(graph_exec exec, graph_node node, event e) {
    return change_event(exec, node, node_kind::record_event, e);
}

result cuGraphExecEventWaitNodeSetEvent(graph_exec exec, graph_node node, event e) {
    return change_event(exec, node, node_kind::wait_event, e);
}

result cuGraphExecChildGraphNodeSetParams(graph_exec exec, graph_node node, graph child) {
    return change_child(exec, node, child);
}

result cuGraphExecNodeSetParams(graph_exec exec, graph_node node, node_params* params) {
    if (params == nullptr) {
        return error_invalid_value;
    }
    const auto kind = static_cast<node_kind>(params->type);
    if (kind == node_kind::child) {
        return change_child(exec, node, params->child.child);
    }
    if (kind == node_kind::allocate || kind == node_kind::free) {
        return error_not_supported;
    }
    return change_copy(exec, node, kind,
                       [&](node_action& fresh) { return action_of(*params, fresh); });
}

result cuGraphNodeSetEnabled(graph_exec exec, graph_node node, unsigned enabled) {
    return with_switch(exec, node, [&](node_state& copy) {
        copy.enabled = enabled != 0;
        return success;
    });
}

result cuGraphNodeGetEnabled(graph_exec exec, graph_node node, unsigned* enabled) {
    return with_switch(exec, node, [&](const node_state& copy) {
        if (enabled == nullptr) {
            return error_invalid_value;
        }
        *enabled = copy.enabled ? 1 : 0;
        return success;
    });
}

result cuGraphExecGetFlags(graph_exec exec, std::uint64_t* flags) {
    const lock held(the_driver().mutex);
    const exec_state* found = find_exec(exec);
    if (found == nullptr || flags == nullptr) {
        return error_invalid_value;
    }
    *flags = found->flags;
    return success;
}

}  // namespace calls

}  // namespace hostlaunch::embedded
