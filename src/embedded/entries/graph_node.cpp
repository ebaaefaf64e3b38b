// SPDX-License-Identifier: Apache-2.0
// Entry points that add nodes to graphs and take them away.
#include <unordered_set>

#include "embedded/engine/contexts.hpp"
#include "embedded/engine/graphs.hpp"
#include "embedded/engine/user_objects.hpp"
#include "embedded/entries/arguments.hpp"
#include "embedded/entries/calls.hpp"
#include "embedded/entries/node_actions.hpp"

namespace hostlaunch::embedded {

namespace {

// The nodes a new one of `g` depends on. False if one is not a node of `g`, or stands there twice.
bool find_dependencies(const graph_state& g, const graph_node* nodes, std::size_t count,
                       std::vector<node_state*>& found) {
    if (nodes == nullptr && count != 0) {
        return false;
    }
    std::unordered_set<const node_state*> seen;
    for (std::size_t i = 0; i < count; ++i) {
        node_state* node = find_node(nodes[i]);
        if (node == nullptr || node->owner != &g || !seen.insert(node).second) {
            return false;
        }
        found.push_back(node);
    }
    return true;
}

// Adds a node that `fill(node_state&)` has completed, if that returns SUCCESS.
template <class Fill>
result add(graph_node* out, graph g, const graph_node* deps, std::size_t count, Fill fill) {
    const lock held(the_driver().mutex);
    result why;
    graph_state* owner = find_graph(g, why);
    auto made = std::make_unique<node_state>();
    if (owner == nullptr || out == nullptr ||
        !find_dependencies(*owner, deps, count, made->dependencies)) {
        return error_invalid_value;
    }
    if (const result wrong = fill(*made); wrong != success) {
        return wrong;
    }
    *out = add_node(*owner, std::move(made)).handle;
    return success;
}

// The same for what one action tells.
template <class Fill>
result add_action(graph_node* out, graph g, const graph_node* deps, std::size_t count, Fill fill) {
    return add(out, g, deps, count, [&](node_state& node) { return fill(node.action); });
}

result add_any(graph_node* out, graph g, const graph_node* deps, std::size_t count,
               node_params* params) {
    if (params == nullptr) {
        return error_invalid_value;
    }
    return add(out, g, deps, count, [&](node_state& node) {
        const bool is_child = params->type == static_cast<int>(node_kind::child);
        const result filled =
            is_child ? child_of(params->child, node) : action_of(*params, node.action);
        return filled;
    });
}

result remove_node(graph_node node, object_list& due) {
    node_state* found = find_node(node);
    if (found == nullptr || is_being_captured(*found->owner)) {
        return error_invalid_value;
    }
    if (found->action.kind == node_kind::allocate || found->action.kind == node_kind::free) {
        return error_not_supported;
    }
    destroy_node(*found, due);
    return success;
}

}  // namespace

namespace calls {

result cuGraphAddHostNode(graph_node* out, graph g, const graph_node* deps, std::size_t count,
                          const host_node_params* params) {
    return add_action(out, g, deps, count,
                      [&](node_action& does) { return action_of(params, does); });
}

// The context is the device's business: memory is the same everywhere here.
result cuGraphAddMemcpyNode(graph_node* out, graph g, const graph_node* deps, std::size_t count,
                            const copy_params* params, [[maybe_unused]] context ctx) {
    return add_action(out, g, deps, count,
                      [&](node_action& does) { return action_of(params, does); });
}

result cuGraphAddMemsetNode(graph_node* out, graph g, const graph_node* deps, std::size_t count,
                            const fill_params* params, [[maybe_unused]] context ctx) {
    return add_action(out, g, deps, count,
                      [&](node_action& does) { return action_of(params, does); });
}

result cuGraphAddBatchMemOpNode(graph_node* out, graph g, const graph_node* deps, std::size_t count,
                                const batch_params* params) {
    return add_action(out, g, deps, count,
                      [&](node_action& does) { return action_of(params, does); });
}

result cuGraphAddEmptyNode(graph_node* out, graph g, const graph_node* deps, std::size_t count) {
    return add(out, g, deps, count, [](const node_state&) { return success; });
}

result cuGraphAddChildGraphNode(graph_node* out, graph g, const graph_node* deps, std::size_t count,
                                graph child) {
    return add(out, g, deps, count, [&](node_state& node) { return child_of({child, 0}, node); });
}

result cuGraphAddEventRecordNode(graph_node* out, graph g, const graph_node* deps,
                                 std::size_t count, event e) {
    return add_action(out, g, deps, count, [&](node_action& does) {
        return event_action(node_kind::record_event, e, does);
    });
}

result cuGraphAddEventWaitNode(graph_node* out, graph g, const graph_node* deps, std::size_t count,
                               event e) {
    return add_action(out, g, deps, count, [&](node_action& does) {
        return event_action(node_kind::wait_event, e, does);
    });
}

result cuGraphAddMemAllocNode(graph_node* out, graph g, const graph_node* deps, std::size_t count,
                              allocation_params* params) {
    return add_action(out, g, deps, count,
                      [&](node_action& does) { return allocate_action(params, does); });
}

result cuGraphAddMemFreeNode(graph_node* out, graph g, const graph_node* deps, std::size_t count,
                             device_ptr memory) {
    return add_action(out, g, deps, count,
                      [&](node_action& does) { return free_action(memory, does); });
}

result cuGraphAddNode(graph_node* out, graph g, const graph_node* deps, std::size_t count,
                      node_params* params) {
    return add_any(out, g, deps, count, params);
}

result cuGraphAddNode_v2(graph_node* out, graph g, const graph_node* deps, const void* edges,
                         std::size_t count, node_params* params) {
    return are_plain(edges, count) ? add_any(out, g, deps, count, params) : error_not_supported;
}

result cuGraphNodeGetType(graph_node node, int* type) {
    const lock held(the_driver().mutex);
    const node_state* found = find_node(node);
    if (found == nullptr || type == nullptr) {
        return error_invalid_value;
    }
    *type = static_cast<int>(found->action.kind);
    return success;
}

result cuGraphDestroyNode(graph_node node) {
    return end_after([&](const lock&, object_list& due) { return remove_node(node, due); });
}

}  // namespace calls

}  // namespace hostlaunch::embedded
