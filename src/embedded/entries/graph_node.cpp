// SPDX-License-Identifier: Apache-2.0
// Entry points that add nodes to graphs, change them and take them away.
#include <unordered_set>

#include "embedded/engine/contexts.hpp"
#include "embedded/engine/execs.hpp"
#include "embedded/engine/graphs.hpp"
#include "embedded/engine/user_objects.hpp"
#include "embedded/entries/calls.hpp"

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

namespace calls {

result cuGraphAddHostNode(graph_node* out, graph g, const graph_node* deps, std::size_t count,
                          const host_node_params* params) {
    return add(out, g, deps, count, [&](node_state& node) {
        if (params == nullptr || params->fn == nullptr) {
            return false;
        }
        node.kind = node_kind::host;
        node.what = host_work_of(*params);
        return true;
    });
}

result cuGraphHostNodeGetParams(graph_node node, host_node_params* params) {
    const lock held(the_driver().mutex);
    const node_state* found = find_host_node(node);
    if (found == nullptr || params == nullptr) {
        return error_invalid_value;
    }
    *params = {found->what.host.fn, found->what.host.user_data};
    return success;
}

result cuGraphHostNodeSetParams(graph_node node, const host_node_params* params) {
    const lock held(the_driver().mutex);
    node_state* found = find_host_node(node);
    if (found == nullptr || params == nullptr || params->fn == nullptr) {
        return error_invalid_value;
    }
    found->what = host_work_of(*params);
    return success;
}

result cuGraphExecHostNodeSetParams(graph_exec exec, graph_node node,
                                    const host_node_params* params) {
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
}

result cuGraphAddEmptyNode(graph_node* out, graph g, const graph_node* deps, std::size_t count) {
    return add(out, g, deps, count, [](const node_state&) { return true; });
}

result cuGraphAddChildGraphNode(graph_node* out, graph g, const graph_node* deps, std::size_t count,
                                graph child) {
    return add(out, g, deps, count, [&](node_state& node) { return fill_child(node, child); });
}

result cuGraphChildGraphNodeGetGraph(graph_node node, graph* out) {
    const lock held(the_driver().mutex);
    const node_state* found = find_node(node);
    if (found == nullptr || found->child == nullptr || out == nullptr) {
        return error_invalid_value;
    }
    *out = found->child->handle;
    return success;
}

result cuGraphAddEventRecordNode(graph_node* out, graph g, const graph_node* deps,
                                 std::size_t count, event e) {
    return add(out, g, deps, count,
               [&](node_state& node) { return fill_event(node, node_kind::record_event, e); });
}

result cuGraphAddEventWaitNode(graph_node* out, graph g, const graph_node* deps, std::size_t count,
                               event e) {
    return add(out, g, deps, count,
               [&](node_state& node) { return fill_event(node, node_kind::wait_event, e); });
}

result cuGraphNodeGetType(graph_node node, int* type) {
    const lock held(the_driver().mutex);
    const node_state* found = find_node(node);
    if (found == nullptr || type == nullptr) {
        return error_invalid_value;
    }
    *type = static_cast<int>(found->kind);
    return success;
}

result cuGraphDestroyNode(graph_node node) {
    return end_after([&](const lock&, object_list& due) { return remove_node(node, due); });
}

}  // namespace calls

}  // namespace hostlaunch::embedded
