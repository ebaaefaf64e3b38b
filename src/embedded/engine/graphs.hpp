// SPDX-License-Identifier: Apache-2.0
// Graphs and their nodes.
//
// requires the driver's mutex everywhere. Dependencies may lead either way, and in circles too
// until a graph is instantiated: then its executable gets an order to run the nodes in.
//
// What keeps user objects alive: a graph holds references of its own, each with its multiplicity;
// a clone copies them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "embedded/engine/driver.hpp"
#include "embedded/engine/pools.hpp"
#include "embedded/engine/user_objects.hpp"

namespace hostlaunch::embedded {

enum class node_kind : int {  // CUgraphNodeType
    copy = 1,
    fill = 2,
    host = 3,
    child = 4,
    empty = 5,
    wait_event = 6,
    record_event = 7,
    allocate = 10,
    free = 11,
    value = 12,
};

// What a node does at each launch. Its kind says which of the others count.
struct node_action {
    node_kind kind = node_kind::empty;
    work what{};                           // of copies, fills and host functions
    std::vector<value_params> values;      // of value nodes, in order
    context ctx = nullptr;                 // that value nodes were given
    event target = nullptr;                // of event nodes; looked up at each launch
    std::shared_ptr<graph_memory> memory;  // of nodes that allocate it or free it
    device_ptr freed = 0;                  // what a node frees
};

// A node keeps what a replay needs, and the nodes that must come before.
struct node_state {
    graph_node handle = nullptr;  // null in an executable
    graph_state* owner = nullptr;
    std::size_t place = 0;  // in owner->nodes
    node_action action;
    bool enabled = true;  // in an executable
    std::unique_ptr<graph_state> child;
    std::vector<node_state*> dependencies;
    graph_node original = nullptr;  // the node that this one is a copy of
};

struct held_references {
    user_object_state* object;
    std::uint64_t count;
};

// By the object's id, so in the order in which they were created. Finding one costs the same
// however many there are, or nearly.
using reference_map = std::map<std::uint64_t, held_references>;

struct graph_state {
    graph handle = nullptr;
    bool is_child = false;                           // belongs to a node of another graph
    std::vector<std::unique_ptr<node_state>> nodes;  // in the order they were added
    std::vector<node_state*> order;                  // to run the nodes in; filled in executables
    reference_map references;                        // but for those of child graphs
};

node_kind kind_of(const work& what);

graph_state& create_graph();
graph_state& clone_graph(const graph_state& from);
void destroy_graph(graph_state& g, object_list& due);
bool is_being_captured(const graph_state& g);

// The nodes alone, without handles and without a claim to the references it lists.
std::unique_ptr<graph_state> copy_nodes(const graph_state& from);

// Gives the node, and the child graph in it, its place and its handles. Throws std::bad_alloc
// before anything has changed.
node_state& add_node(graph_state& g, std::unique_ptr<node_state> made);
// Takes the node out of its graph; nodes that depended on it no longer do.
void destroy_node(node_state& node, object_list& due);
node_state* find_node(graph_node handle);

// Fills `order`, children's too. False if there is a circle.
bool put_in_order(graph_state& g);

// Calls action(node) for every node, those of child graphs included.
template <class Graph, class Action>
void for_each_node(Graph& g, const Action& action) {
    for (const auto& node : g.nodes) {
        action(*node);
        if (node->child != nullptr) {
            for_each_node(*node->child, action);
        }
    }
}
bool has_memory_nodes(const graph_state& g);

void retain_references(graph_state& g, user_object_state& object, unsigned count, bool move);
// False, and nothing is released, if the graph holds fewer.
bool release_references(graph_state& g, const user_object_state& object, unsigned count,
                        object_list& due);

}  // namespace hostlaunch::embedded
