// SPDX-License-Identifier: Apache-2.0
// Prints a graph in the language of Graphviz.
#include <cstdio>
#include <string>

#include "embedded/engine/graphs.hpp"
#include "embedded/entries/calls.hpp"
#include "embedded/entries/graph_arguments.hpp"

namespace hostlaunch::embedded {

namespace {

const char* name_of(node_kind kind) {
    switch (kind) {
        case node_kind::copy:
            return "MEMCPY";
        case node_kind::fill:
            return "MEMSET";
        case node_kind::host:
            return "HOST";
        case node_kind::child:
            return "GRAPH";
        case node_kind::empty:
            return "EMPTY";
        case node_kind::wait_event:
            return "EVENT_WAIT";
        case node_kind::record_event:
            return "EVENT_RECORD";
        case node_kind::allocate:
            return "MEM_ALLOC";
        case node_kind::free:
            return "MEM_FREE";
        case node_kind::value:
            return "BATCH_MEM_OP";
    }
    return "UNKNOWN";
}

// `prefix` tells the nodes of different child graphs apart.
std::string text_of(const graph_state& g, const std::string& prefix) {
    std::string text;
    const auto label = [&](const node_state& node) {
        return "\"" + prefix + "node_" + std::to_string(node.place) + "\"";
    };
    for (const auto& node : g.nodes) {
        text += label(*node) + " [label=\"" + std::to_string(node->place) + "\\n" +
                name_of(node->action.kind) + "\"];\n";
        for (const node_state* before : node->dependencies) {
            text += label(*before) + " -> " + label(*node) + ";\n";
        }
        if (node->child != nullptr) {
            const std::string inner = prefix + "graph_" + std::to_string(node->place) + "_";
            text += "subgraph \"cluster_" + inner + "\" {\n" + text_of(*node->child, inner) + "}\n";
        }
    }
    return text;
}

bool write_file(const char* path, const std::string& text) {
    std::FILE* file = std::fopen(path, "w");
    if (file == nullptr) {
        return false;
    }
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    return std::fclose(file) == 0 && written;
}

}  // namespace

namespace calls {

// The flags ask for details that there are none of.
result cuGraphDebugDotPrint(graph g, const char* path, [[maybe_unused]] unsigned flags) {
    std::string text;
    const result known = with_graph(g, [&](const graph_state& found) {
        text = "digraph hostlaunch {\n" + text_of(found, "") + "}\n";
        return success;
    });
    if (known != success || path == nullptr) {
        return error_invalid_value;
    }
    return write_file(path, text) ? success : error_operating_system;
}

}  // namespace calls

}  // namespace hostlaunch::embedded
