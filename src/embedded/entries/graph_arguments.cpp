// SPDX-License-Identifier: Apache-2.0
// Hands out the nodes of graphs.
#include "embedded/entries/graph_arguments.hpp"

#include <algorithm>

namespace hostlaunch::embedded {

result show_nodes(const std::vector<graph_node>& all, graph_node* nodes, std::size_t* count) {
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

}  // namespace hostlaunch::embedded
