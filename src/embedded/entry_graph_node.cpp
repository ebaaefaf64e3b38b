// SPDX-License-Identifier: Apache-2.0
// Entry points that add nodes to graphs, change them and take them away.
#include <unordered_set>

#include "embedded/contexts.hpp"
#include "embedded/entry.hpp"
#include "embedded/graphs.hpp"

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

// Adds a node that `fill(node_state&)` has completed; false: its arguments are wrong.
template <class Fill>
result add(graph_node* out, graph g, const graph_node* deps, std::size_t count, Fill fill) {
    const lock held(the_driver().mutex);
    result why;
    graph_state* owner = find_graph(g, why);
    auto made = std::make_unique<node_state>();
    if (owner == nullptr || out == nullptr ||
        !find_dependencies(*owner, deps, count, made->dependencies) || !fill(*made)) {
        return error_invalid_value;
    }
    *out = add_node(*owner, std::move(made)).handle;
    return success;
}

work host_work_of(const host_node_params& params) {
    work w{};
    w.kind = work_kind::host;
    w.host = {params.fn, nullptr, nullptr, params.user_data};
    return w;
}

node_state* find_host_node(graph_node node) {
    node_state* found = find_node(node);
    return found != nullptr && found->kind == node_kind::host ? found : nullptr;
}

bool fill_child(node_state& node, graph child) {
    result why;
    const graph_state* found = find_graph(child, why);
    if (found == nullptr) {
        return false;
    }
    node.kind = node_kind::child;
    node.child = copy_nodes(*found);
    node.child->is_child = true;
    return true;
}

bool fill_event(node_state& node, node_kind kind, event e) {
    result why;
    node.kind = kind;
    node.target = e;
    return find_event(e, why) != nullptr;
}

result remove_node(graph_node node, object_list& due) {
    node_state* found = find_node(node);
    if (found == nullptr || is_being_captured(*found->owner)) {
        return error_invalid_value;
    }
    destroy_node(*found, due);
    return success;
}

}  // namespace

result cuGraphAddHostNode(graph_node* out, graph g, const graph_node* deps, std::size_t count,
                          const host_node_params* params) {
    return enter(
        entry_id::cuGraphAddHostNode,
        [&] {
            return add(out, g, deps, count, [&](node_state& node) {
                if (params == nullptr || params->fn == nullptr) {
                    return false;
                }
                node.kind = node_kind::host;
                node.what = host_work_of(*params);
                return true;
            });
        },
        out, g, deps, count, params);
}

result cuGraphHostNodeGetParams(graph_node node, host_node_params* params) {
    return enter(
        entry_id::cuGraphHostNodeGetParams,
        [&] {
            const lock held(the_driver().mutex);
            const node_state* found = find_host_node(node);
            if (found == nullptr || params == nullptr) {
                return error_invalid_value;
            }
            *params = {found->what.host.fn, found->what.host.user_data};
            return success;
        },
        node, params);
}

result cuGraphHostNodeSetParams(graph_node node, const host_node_params* params) {
    return enter(
        entry_id::cuGraphHostNodeSetParams,
        [&] {
            const lock held(the_driver().mutex);
            node_state* found = find_host_node(node);
            if (found == nullptr || params == nullptr || params->fn == nullptr) {
                return error_invalid_value;
            }
            found->what = host_work_of(*params);
            return success;
        },
        node, params);
}

result cuGraphExecHostNodeSetParams(graph_exec exec, graph_node node,
                                    const host_node_params* params) {
    return enter(
        entry_id::cuGraphExecHostNodeSetParams,
        [&] {
            const lock held(the_driver().mutex);
            exec_state* found = find_exec(exec);
            if (found == nullptr || find_host_node(node) == nullptr || params == nullptr ||
                params->fn == nullptr) {
                return error_invalid_value;
            }
            node_state* copy = find_copy(*found->nodes, node, true);
            if (copy == nullptr) {
                return error_invalid_value;
            }
            copy->what = host_work_of(*params);
            return success;
        },
        exec, node, params);
}

result cuGraphAddEmptyNode(graph_node* out, graph g, const graph_node* deps, std::size_t count) {
    return enter(
        entry_id::cuGraphAddEmptyNode,
        [&] { return add(out, g, deps, count, [](const node_state&) { return true; }); }, out, g,
        deps, count);
}

result cuGraphAddChildGraphNode(graph_node* out, graph g, const graph_node* deps, std::size_t count,
                                graph child) {
    return enter(
        entry_id::cuGraphAddChildGraphNode,
        [&] {
            return add(out, g, deps, count,
                       [&](node_state& node) { return fill_child(node, child); });
        },
        out, g, deps, count, child);
}

result cuGraphChildGraphNodeGetGraph(graph_node node, graph* out) {
    return enter(
        entry_id::cuGraphChildGraphNodeGetGraph,
        [&] {
            const lock held(the_driver().mutex);
            const node_state* found = find_node(node);
            if (found == nullptr || found->child == nullptr || out == nullptr) {
                return error_invalid_value;
            }
            *out = found->child->handle;
            return success;
        },
        node, out);
}

result cuGraphAddEventRecordNode(graph_node* out, graph g, const graph_node* deps,
                                 std::size_t count, event e) {
    return enter(
        entry_id::cuGraphAddEventRecordNode,
        [&] {
            return add(out, g, deps, count, [&](node_state& node) {
                return fill_event(node, node_kind::record_event, e);
            });
        },
        out, g, deps, count, e);
}

result cuGraphAddEventWaitNode(graph_node* out, graph g, const graph_node* deps, std::size_t count,
                               event e) {
    return enter(
        entry_id::cuGraphAddEventWaitNode,
        [&] {
            return add(out, g, deps, count, [&](node_state& node) {
                return fill_event(node, node_kind::wait_event, e);
            });
        },
        out, g, deps, count, e);
}

result cuGraphNodeGetType(graph_node node, int* type) {
    return enter(
        entry_id::cuGraphNodeGetType,
        [&] {
            const lock held(the_driver().mutex);
            const node_state* found = find_node(node);
            if (found == nullptr || type == nullptr) {
                return error_invalid_value;
            }
            *type = static_cast<int>(found->kind);
            return success;
        },
        node, type);
}

result cuGraphDestroyNode(graph_node node) {
    return enter(
        entry_id::cuGraphDestroyNode,
        [&] {
            return end_after([&](const lock&, object_list& due) { return remove_node(node, due); });
        },
        node);
}

}  // namespace hostlaunch::embedded
