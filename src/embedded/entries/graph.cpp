// SPDX-License-Identifier: Apache-2.0
// Entry points that make, copy and end graphs, and tell their nodes.
#include <algorithm>

#include "embedded/engine/contexts.hpp"
#include "embedded/engine/execs.hpp"
#include "embedded/engine/graphs.hpp"
#include "embedded/engine/user_objects.hpp"
#include "embedded/entries/calls.hpp"
#include "embedded/entries/graph_arguments.hpp"

namespace hostlaunch::embedded {

namespace {

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
        return show_nodes(all, nodes, count);
    });
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
        if (has_memory_nodes(found)) {
            return error_not_supported;
        }
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

}  // namespace calls

}  // namespace hostlaunch::embedded
