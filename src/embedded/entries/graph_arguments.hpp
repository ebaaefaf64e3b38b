// SPDX-License-Identifier: Apache-2.0
// What calls about graphs share: the graph that a call names, and nodes that it hands out.
#pragma once

#include <vector>

#include "embedded/engine/contexts.hpp"
#include "embedded/engine/graphs.hpp"

namespace hostlaunch::embedded {

// Hands out handles as the driver does: how many there are if there is no array, else as many as
// fit, and null for the rest.
result show_nodes(const std::vector<graph_node>& all, graph_node* nodes, std::size_t* count);

// Calls body(graph_state&) with the mutex held.
template <class Body>
result with_graph(graph g, Body body) {
    const lock held(the_driver().mutex);
    result why;
    graph_state* found = find_graph(g, why);
    return found == nullptr ? error_invalid_value : body(*found);
}

}  // namespace hostlaunch::embedded
