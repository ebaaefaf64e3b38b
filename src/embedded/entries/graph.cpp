// SPDX-License-Identifier: Apache-2.0
// Entry points that make, copy, end and look at graphs.
#include <algorithm>

#include "embedded/engine/contexts.hpp"
#include "embedded/engine/execs.hpp"
#include "embedded/engine/graphs.hpp"
#include "embedded/engine/user_objects.hpp"
#include "embedded/entries/calls.hpp"

namespace hostlaunch::embedded {

namespace {

// Hands out handles as the driver does: how many there are if there is no array, else as many as
// fit, and null for the rest.
result show(const std::vector<graph_node>& all, graph_node* nodes, std::size_t* count) {
    if (nodes != nullptr) {
        const std::size_t given = std::min(*count, all.size());
        std::copy_n(all.begin(), given, nodes);
        std::fill(nodes + given, nodes + *count, nullptr);
        *count = given;
    } else {
        *count = all.size();
    }
    return success;
}

// Calls body(graph_state&) with the mutex held.
template <class Body>
result with_graph(graph g, Body body) {
    const lock held(the_driver().mutex);
    result why;
    graph_state* found = find_graph(g, why);
    return found == nullptr ? error_invalid_value : body(*found);
}

result get_nodes(graph g, graph_node* nodes, std::size_t* count, bool roots_only) {
    if (count == nullptr) {
        return error_invalid_value;
    }
    return with_graph(g, [&](const graph_state& found) {
        std::vector<graph_node> all;
        for (const auto& node : found.nodes) {
            if (!roots_only || node->dependencies.empty()) {
                all.push_back(node->handle);
            }
        }
        return show(all, nodes, count);
    });
}

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
        show(begins, from, &same);
        return show(ends, to, count);
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
    return show(all, nodes, count);
}

result end_graph(graph g, object_list& due) {
    result why;
    graph_state* found = find_graph(g, why);
    if (found == nullptr || found->is_child) {
        return error_invalid_value;
    }
    if (is_being_captured(*found)) {
        return error_illegal_state;
    }
    destroy_graph(*found, due);
    return success;
}

result clone(graph* out, graph original) {
    if (out == nullptr) {
        return error_invalid_value;
    }
    return with_graph(original, [&](const graph_state& found) {
        *out = clone_graph(found).handle;
        return success;
    });
}

result find_in_clone(graph_node* out, graph_node original, graph clone) {
    if (out == nullptr) {
        return error_invalid_value;
    }
    return with_graph(clone, [&](graph_state& found) {
        const node_state* copy =
            find_node(original) == nullptr ? nullptr : find_copy(found, original, false);
        if (copy == nullptr) {
            return error_invalid_value;
        }
        *out = copy->handle;
        return success;
    });
}

}  // namespace

namespace calls {

result cuGraphCreate(graph* out, unsigned flags) {
    if (out == nullptr || flags != 0) {
        return error_invalid_value;
    }
    const lock held(the_driver().mutex);
    *out = create_graph().handle;
    return success;
}

result cuGraphClone(graph* out, graph original) {
    return clone(out, original);
}

result cuGraphDestroy(graph g) {
    return end_after([&](const lock&, object_list& due) { return end_graph(g, due); });
}

result cuGraphNodeFindInClone(graph_node* out, graph_node original, graph clone) {
    return find_in_clone(out, original, clone);
}

result cuGraphGetNodes(graph g, graph_node* nodes, std::size_t* count) {
    return get_nodes(g, nodes, count, false);
}

result cuGraphGetRootNodes(graph g, graph_node* nodes, std::size_t* count) {
    return get_nodes(g, nodes, count, true);
}

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

}  // namespace calls

}  // namespace hostlaunch::embedded
