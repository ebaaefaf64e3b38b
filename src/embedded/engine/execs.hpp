// SPDX-License-Identifier: Apache-2.0
// Executables: made from a graph, updated from another, and replayed into streams.
//
// requires the driver's mutex everywhere. An executable has a set of references to user objects,
// taken when it is instantiated or updated; every launch shares the set that was in force until it
// has completed.
#pragma once

#include "embedded/engine/graphs.hpp"

namespace hostlaunch::embedded {

// The references of an executable, shared with its launches; the last holder drops them.
struct reference_set {
    int holders = 1;
    std::vector<held_references> list;
};

// Life: registered -> destroyed (handle gone, launches in flight) -> freed by the last launch.
struct exec_state {
    graph_exec handle = nullptr;
    std::unique_ptr<graph_state> nodes;
    reference_set* references = nullptr;
    std::uint64_t flags = 0;  // CUgraphInstantiate_flags
    std::uint64_t launched = 0;
    std::uint64_t completed = 0;
    mark_list marks;  // of launches that wait for an earlier one
    bool destroyed = false;
};

// Null, and `why`, if the graph cannot be run.
exec_state* instantiate(const graph_state& g, std::uint64_t flags, result& why);
void destroy_exec(exec_state& exec, object_list& due);
exec_state* find_exec(graph_exec handle);
// The executable's copy of a node of the graph that it was made from, or null.
node_state* find_copy(graph_state& nodes, graph_node original, bool in_children);

// What a node of the executable does from the next launch on. False if it cannot do that instead.
bool set_action(node_state& node, const node_action& action);
// The same for a child graph, whose nodes must match.
bool set_child(exec_state& exec, node_state& node, const graph_state& child);

// What differs in a way that an update cannot take over; then the executable is unchanged.
exec_update_result update_exec(exec_state& exec, const graph_state& g, object_list& due);

result launch_exec(lock& held, exec_state& exec, stream_state& s);

}  // namespace hostlaunch::embedded
