// SPDX-License-Identifier: Apache-2.0
// Makes, copies and ends graphs and their nodes, and keeps their references.
#include "embedded/engine/graphs.hpp"

#include <algorithm>
#include <functional>
#include <queue>

#include "embedded/engine/queues.hpp"
#include "embedded/engine/user_objects.hpp"

namespace hostlaunch::embedded {

namespace {

void register_graph(graph_state& g);

void register_node(node_state& node) {
    node.handle = make_handle<graph_node>(the_driver().handles.add(handle_kind::node, &node));
    if (node.child != nullptr) {
        register_graph(*node.child);
    }
}

void register_graph(graph_state& g) {
    g.handle = make_handle<graph>(the_driver().handles.add(handle_kind::graph, &g));
    for (const auto& node : g.nodes) {
        register_node(*node);
    }
}

void unregister_graph(graph_state& g);

// Also of one whose registration failed half way.
void unregister_node(node_state& node) {
    if (node.handle != nullptr) {
        the_driver().handles.remove(handle_bits(node.handle));
    }
    if (node.child != nullptr) {
        unregister_graph(*node.child);
    }
}

void unregister_graph(graph_state& g) {
    if (g.handle != nullptr) {
        the_driver().handles.remove(handle_bits(g.handle));
    }
    for (const auto& node : g.nodes) {
        unregister_node(*node);
    }
}

void claim_references(const graph_state& g) {
    for (const auto& [id, r] : g.references) {
        r.object->references += r.count;
    }
    for (const auto& node : g.nodes) {
        if (node->child != nullptr) {
            claim_references(*node->child);
        }
    }
}

void drop_all_references(const graph_state& g, object_list& due) {
    for (const auto& [id, r] : g.references) {
        drop_references(*r.object, r.count, due);
    }
    for (const auto& node : g.nodes) {
        if (node->child != nullptr) {
            drop_all_references(*node->child, due);
        }
    }
}

graph_state& register_whole(std::unique_ptr<graph_state> g) {
    try {
        register_graph(*g);
    } catch (const std::bad_alloc&) {
        unregister_graph(*g);
        throw;
    }
    claim_references(*g);
    return *g.release();
}

std::unique_ptr<node_state> copy_node(const node_state& from, graph_state& to) {
    auto made = std::make_unique<node_state>();
    made->owner = &to;
    made->place = from.place;
    made->action = from.action;
    made->original = from.handle;
    if (from.child != nullptr) {
        made->child = copy_nodes(*from.child);
        made->child->is_child = true;
    }
    return made;
}

void copy_dependencies(const graph_state& from, graph_state& to) {
    for (std::size_t i = 0; i < from.nodes.size(); ++i) {
        std::vector<node_state*>& made = to.nodes[i]->dependencies;
        made.reserve(from.nodes[i]->dependencies.size());
        for (const node_state* before : from.nodes[i]->dependencies) {
            made.push_back(to.nodes[before->place].get());
        }
    }
}

}  // namespace

node_kind kind_of(const work& what) {
    switch (what.kind) {
        case work_kind::host:
            return node_kind::host;
        case work_kind::copy:
            return node_kind::copy;
        case work_kind::fill:
            return node_kind::fill;
        case work_kind::wait_value:
        case work_kind::write_value:
            return node_kind::value;
        default:
            return node_kind::empty;
    }
}

graph_state& create_graph() {
    return register_whole(std::make_unique<graph_state>());
}

std::unique_ptr<graph_state> copy_nodes(const graph_state& from) {
    auto to = std::make_unique<graph_state>();
    to->references = from.references;
    to->nodes.reserve(from.nodes.size());
    for (const auto& node : from.nodes) {
        to->nodes.push_back(copy_node(*node, *to));
    }
    copy_dependencies(from, *to);
    return to;
}

graph_state& clone_graph(const graph_state& from) {
    return register_whole(copy_nodes(from));
}

void destroy_graph(graph_state& g, object_list& due) {
    unregister_graph(g);
    drop_all_references(g, due);
    delete &g;
}

bool is_being_captured(const graph_state& g) {
    const auto& captures = the_driver().captures;
    return std::any_of(captures.begin(), captures.end(),
                       [&](const capture_state* c) { return c->built == &g; });
}

node_state& add_node(graph_state& g, std::unique_ptr<node_state> made) {
    node_state& node = *made;
    node.owner = &g;
    node.place = g.nodes.size();
    g.nodes.push_back(std::move(made));
    try {
        register_node(node);
    } catch (const std::bad_alloc&) {
        unregister_node(node);
        g.nodes.pop_back();
        throw;
    }
    if (node.child != nullptr) {
        claim_references(*node.child);
    }
    return node;
}

void destroy_node(node_state& node, object_list& due) {
    graph_state& g = *node.owner;
    unregister_node(node);
    if (node.child != nullptr) {
        drop_all_references(*node.child, due);
    }
    const std::size_t place = node.place;
    for (std::size_t i = 0; i < g.nodes.size(); ++i) {
        g.nodes[i]->place -= i > place ? 1 : 0;
        std::erase(g.nodes[i]->dependencies, &node);
    }
    g.nodes.erase(g.nodes.begin() + static_cast<std::ptrdiff_t>(place));
}

bool put_in_order(graph_state& g) {
    g.order.clear();
    g.order.reserve(g.nodes.size());
    std::vector<std::size_t> missing(g.nodes.size());
    std::vector<std::vector<std::size_t>> after(g.nodes.size());
    for (const auto& node : g.nodes) {
        missing[node->place] = node->dependencies.size();
        for (const node_state* before : node->dependencies) {
            after[before->place].push_back(node->place);
        }
    }
    // Of those that may come next the one that was added first.
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
    for (std::size_t i = 0; i < missing.size(); ++i) {
        if (missing[i] == 0) ready.push(i);
    }
    while (!ready.empty()) {
        const std::size_t next = ready.top();
        ready.pop();
        g.order.push_back(g.nodes[next].get());
        for (const std::size_t i : after[next]) {
            if (--missing[i] == 0) ready.push(i);
        }
    }
    return g.order.size() == g.nodes.size() &&
           std::all_of(g.nodes.begin(), g.nodes.end(), [](const auto& node) {
               return node->child == nullptr || put_in_order(*node->child);
           });
}

bool has_memory_nodes(const graph_state& g) {
    bool found = false;
    for_each_node(g, [&](const node_state& node) {
        found = found || node.action.memory != nullptr || node.action.kind == node_kind::free;
    });
    return found;
}

node_state* find_node(graph_node handle) {
    result why;
    return static_cast<node_state*>(
        the_driver().handles.find(handle_kind::node, handle_bits(handle), why));
}

void retain_references(graph_state& g, user_object_state& object, unsigned count, bool move) {
    g.references.try_emplace(object.id, held_references{&object, 0}).first->second.count += count;
    if (move) {
        object.owned -= count;
    } else {
        object.references += count;
    }
}

bool release_references(graph_state& g, const user_object_state& object, unsigned count,
                        object_list& due) {
    const auto found = g.references.find(object.id);
    if (found == g.references.end() || found->second.count < count) {
        return false;
    }
    user_object_state& released = *found->second.object;
    found->second.count -= count;
    if (found->second.count == 0) {
        g.references.erase(found);
    }
    drop_references(released, count, due);
    return true;
}

}  // namespace hostlaunch::embedded
