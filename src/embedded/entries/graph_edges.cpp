// SPDX-License-Identifier: Apache-2.0
// Entry points that tell and change which nodes of a graph depend on which.
#include <algorithm>

#include "embedded/engine/graphs.hpp"
#include "embedded/entries/arguments.hpp"
#include "embedded/entries/calls.hpp"
#include "embedded/entries/graph_arguments.hpp"

namespace hostlaunch::embedded {

namespace {

result get_edges(graph g, graph_node* from, graph_node* to, void* edges, std::size_t* count) {
    if (count == nullptr || (from == nullptr) != (to == nullptr)) {
        return error_invalid_value;
    }
    return with_graph(g, [&](const graph_state& found) {
        std::vector<graph_node> begins;
        std::vector<graph_node> ends;
        for (const auto& node : found.nodes) {
            for (const node_state* before : node->dependencies) {
                begins.push_back(before->handle);
                ends.push_back(node->handle);
            }
        }
        if (edges != nullptr && from != nullptr) {
            std::fill_n(static_cast<edge_data*>(edges), *count, edge_data{});  // none carries data
        }
        std::size_t same = *count;
        show_nodes(begins, from, &same);
        return show_nodes(ends, to, count);
    });
}

result get_dependencies(graph_node node, graph_node* nodes, void* edges, std::size_t* count) {
    const lock held(the_driver().mutex);
    const node_state* found = find_node(node);
    if (found == nullptr || count == nullptr) {
        return error_invalid_value;
    }
    std::vector<graph_node> all;
    all.reserve(found->dependencies.size());
    for (const node_state* before : found->dependencies) {
        all.push_back(before->handle);
    }
    if (edges != nullptr && nodes != nullptr) {
        std::fill_n(static_cast<edge_data*>(edges), *count, edge_data{});  // none carries data
    }
    return show_nodes(all, nodes, count);
}

result get_dependents(graph_node node, graph_node* nodes, void* edges, std::size_t* count) {
    const lock held(the_driver().mutex);
    node_state* found = find_node(node);
    if (found == nullptr || count == nullptr) {
        return error_invalid_value;
    }
    std::vector<graph_node> all;
    for (const auto& other : found->owner->nodes) {
        const auto& behind = other->dependencies;
        if (std::find(behind.begin(), behind.end(), found) != behind.end()) {
            all.push_back(other->handle);
        }
    }
    if (edges != nullptr && nodes != nullptr) {
        std::fill_n(static_cast<edge_data*>(edges), *count, edge_data{});
    }
    return show_nodes(all, nodes, count);
}

bool depends(const node_state& node, const node_state& before) {
    const auto& all = node.dependencies;
    return std::find(all.begin(), all.end(), &before) != all.end();
}

struct edge {
    node_state* from;
    node_state* to;
};

// The edges that a call names, all of them between nodes of the graph, and each once. False if not.
bool find_edges(const graph_state& g, const graph_node* from, const graph_node* to,
                std::size_t count, std::vector<edge>& found) {
    if (count != 0 && (from == nullptr || to == nullptr)) {
        return false;
    }
    for (std::size_t i = 0; i < count; ++i) {
        const edge e{find_node(from[i]), find_node(to[i])};
        const bool known = e.from != nullptr && e.to != nullptr && e.from->owner == &g &&
                           e.to->owner == &g && e.from != e.to;
        const bool again = std::any_of(found.begin(), found.end(), [&](const edge& other) {
            return other.from == e.from && other.to == e.to;
        });
        if (!known || again) {
            return false;
        }
        found.push_back(e);
    }
    return true;
}

// Edges that are there already, or not there, spoil the whole call.
result change_edges(graph g, const graph_node* from, const graph_node* to, std::size_t count,
                    bool there) {
    return with_graph(g, [&](const graph_state& found) {
        std::vector<edge> edges;
        if (!find_edges(found, from, to, count, edges) ||
            std::any_of(edges.begin(), edges.end(),
                        [&](const edge& e) { return depends(*e.to, *e.from) == there; })) {
            return error_invalid_value;
        }
        for (const edge& e : edges) {
            if (there) {
                e.to->dependencies.push_back(e.from);
            } else {
                std::erase(e.to->dependencies, e.from);
            }
        }
        return success;
    });
}

}  // namespace

namespace calls {

result cuGraphGetEdges(graph g, graph_node* from, graph_node* to, std::size_t* count) {
    return get_edges(g, from, to, nullptr, count);
}

result cuGraphGetEdges_v2(graph g, graph_node* from, graph_node* to, void* edges,
                          std::size_t* count) {
    return get_edges(g, from, to, edges, count);
}

result cuGraphNodeGetDependencies(graph_node node, graph_node* nodes, std::size_t* count) {
    return get_dependencies(node, nodes, nullptr, count);
}

result cuGraphNodeGetDependencies_v2(graph_node node, graph_node* nodes, void* edges,
                                     std::size_t* count) {
    return get_dependencies(node, nodes, edges, count);
}

result cuGraphNodeGetDependentNodes(graph_node node, graph_node* nodes, std::size_t* count) {
    return get_dependents(node, nodes, nullptr, count);
}

result cuGraphNodeGetDependentNodes_v2(graph_node node, graph_node* nodes, void* edges,
                                       std::size_t* count) {
    return get_dependents(node, nodes, edges, count);
}

result cuGraphAddDependencies(graph g, const graph_node* from, const graph_node* to,
                              std::size_t count) {
    return change_edges(g, from, to, count, true);
}

result cuGraphAddDependencies_v2(graph g, const graph_node* from, const graph_node* to,
                                 const void* edges, std::size_t count) {
    return are_plain(edges, count) ? change_edges(g, from, to, count, true) : error_not_supported;
}

result cuGraphRemoveDependencies(graph g, const graph_node* from, const graph_node* to,
                                 std::size_t count) {
    return change_edges(g, from, to, count, false);
}

result cuGraphRemoveDependencies_v2(graph g, const graph_node* from, const graph_node* to,
                                    const void* edges, std::size_t count) {
    return are_plain(edges, count) ? change_edges(g, from, to, count, false) : error_not_supported;
}

}  // namespace calls

}  // namespace hostlaunch::embedded
