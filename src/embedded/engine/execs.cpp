// SPDX-License-Identifier: Apache-2.0
// Executables: made from a graph, updated from another, and replayed into streams.
//
// A launch pushes the nodes in the order in which they were added, between a barrier for the
// executable's launch before it and an operation that ends the launch. The functions and arguments
// are copied into the stream, so that later changes of the executable leave the launch alone.
#include "embedded/engine/execs.hpp"

#include <algorithm>

#include "embedded/engine/contexts.hpp"
#include "embedded/engine/executor.hpp"
#include "embedded/engine/graphs.hpp"
#include "embedded/engine/queues.hpp"
#include "embedded/engine/user_objects.hpp"
#include "embedded/engine/waits.hpp"

namespace hostlaunch::embedded {

namespace {

void collect_references(const graph_state& g, std::vector<held_references>& into) {
    for (const auto& [id, r] : g.references) {
        into.push_back(r);
    }
    for (const auto& node : g.nodes) {
        if (node->child != nullptr) {
            collect_references(*node->child, into);
        }
    }
}

// Not yet a claim to them: `claim` makes it one, and does not throw.
std::unique_ptr<reference_set> list_references(const graph_state& g) {
    auto made = std::make_unique<reference_set>();
    collect_references(g, made->list);
    return made;
}

reference_set* claim(std::unique_ptr<reference_set> listed) {
    for (const held_references& r : listed->list) {
        r.object->references += r.count;
    }
    return listed.release();
}

void let_go(reference_set* set, object_list& due) {
    if (--set->holders > 0) {
        return;
    }
    for (const held_references& r : set->list) {
        drop_references(*r.object, r.count, due);
    }
    delete set;
}

// Who ends what a call takes from the executable: measured, the driver's thread from its first
// launch on, even when that has long completed.
object_list& list_for(const exec_state& exec, object_list& due) {
    return exec.launched == 0 ? due : the_driver().dying;
}

bool are_alike(const value_params& a, const value_params& b) {
    return a.operation == b.operation;
}

// A value node keeps its context and its operations, a memory node its memory.
bool can_replace(const node_action& action, const node_action& by) {
    return action.kind == by.kind && action.ctx == by.ctx && action.memory == by.memory &&
           action.freed == by.freed &&
           std::equal(action.values.begin(), action.values.end(), by.values.begin(),
                      by.values.end(), are_alike);
}

// What an update reports of the first node that differs; all zero if none does.
exec_update_result compare_node(const node_state& old, const node_state& fresh) {
    if (old.action.kind != fresh.action.kind) {
        return {exec_update_node_type_changed, fresh.handle, nullptr};
    }
    if (old.dependencies.size() != fresh.dependencies.size()) {
        return {exec_update_topology_changed, fresh.handle, nullptr};
    }
    for (std::size_t i = 0; i < old.dependencies.size(); ++i) {
        if (old.dependencies[i]->place != fresh.dependencies[i]->place) {
            return {exec_update_topology_changed, fresh.handle, fresh.dependencies[i]->handle};
        }
    }
    return can_replace(old.action, fresh.action)
               ? exec_update_result{}
               : exec_update_result{exec_update_parameters_changed, fresh.handle, nullptr};
}

exec_update_result compare(const graph_state& old, const graph_state& fresh) {
    if (old.nodes.size() != fresh.nodes.size()) {
        return {exec_update_topology_changed, nullptr, nullptr};
    }
    for (std::size_t i = 0; i < old.nodes.size(); ++i) {
        exec_update_result found = compare_node(*old.nodes[i], *fresh.nodes[i]);
        if (found.outcome == exec_update_success && old.nodes[i]->child != nullptr) {
            found = compare(*old.nodes[i]->child, *fresh.nodes[i]->child);
        }
        if (found.outcome != exec_update_success) {
            return found;
        }
    }
    return {};
}

// requires: `compare` found no difference
void take_over(graph_state& old, const graph_state& fresh) {
    for (std::size_t i = 0; i < old.nodes.size(); ++i) {
        old.nodes[i]->action = fresh.nodes[i]->action;  // no longer than it was: does not throw
        if (old.nodes[i]->child != nullptr) {
            take_over(*old.nodes[i]->child, *fresh.nodes[i]->child);
        }
    }
}

// Calls action(node) for every node that does something, in the order to run them in.
template <class Action>
void for_each_leaf(const graph_state& g, const Action& action) {
    for (const node_state* node : g.order) {
        if (node->child != nullptr) {
            for_each_leaf(*node->child, action);
        } else if (node->action.kind != node_kind::empty && node->enabled) {
            action(*node);
        }
    }
}

// Memory that a launch allocates must not be in use from an earlier one, unless the executable
// frees that by itself. What it allocates and does not free is in use afterwards.
result allocate_for_launch(const exec_state& exec) {
    constexpr std::uint64_t auto_free = 1;
    result answer = success;
    for_each_leaf(*exec.nodes, [&](const node_state& node) {
        const bool allocates = node.action.kind == node_kind::allocate;
        if (allocates && node.action.memory->in_use && (exec.flags & auto_free) == 0) {
            answer = error_invalid_value;
        }
    });
    if (answer == success) {
        for_each_leaf(*exec.nodes, [](const node_state& node) {
            if (node.action.memory != nullptr) {
                node.action.memory->use(node.action.kind == node_kind::allocate);
            }
        });
    }
    return answer;
}

void count_execs(const exec_state& exec, int change) {
    for_each_node(*exec.nodes, [&](const node_state& node) {
        if (node.action.kind == node_kind::allocate) {
            node.action.memory->execs += change;
        }
    });
}

void free_exec(exec_state& exec, object_list& due) {
    --the_driver().execs;
    count_execs(exec, -1);
    let_go(exec.references, list_for(exec, due));
    delete &exec;
}

struct needs {
    std::size_t operations = 0;
    std::size_t waits = 0;
    bool runs_functions = false;
    result answer = success;  // an event that is gone
};

needs look_through(const graph_state& g) {
    needs n;
    for_each_leaf(g, [&](const node_state& node) {
        const node_action& does = node.action;
        n.operations += does.kind == node_kind::value ? does.values.size() : 1;
        n.runs_functions = n.runs_functions || does.kind == node_kind::host;
        n.waits += does.kind == node_kind::wait_event ? 1 : 0;
        result why;
        if (does.target != nullptr && find_event(does.target, why) == nullptr) {
            n.answer = why;
        }
    });
    return n;
}

void append_node(stream_state& s, const node_action& action) {
    result why;
    switch (action.kind) {
        case node_kind::wait_event:
            append_event_wait(s, *find_event(action.target, why));
            return;
        case node_kind::record_event:
            append_record(s, *find_event(action.target, why));
            return;
        case node_kind::value:
            append_values(s, action.values.data(), action.values.size());
            return;
        case node_kind::allocate:
        case node_kind::free:
            return;  // the memory is there as long as the graph is
        default:
            append_work(s, action.what);
    }
}

}  // namespace

exec_state* instantiate(const graph_state& g, std::uint64_t flags, result& why) {
    driver& d = the_driver();
    auto made = std::make_unique<exec_state>();
    made->nodes = copy_nodes(g);
    made->flags = flags;
    bool possible = put_in_order(*made->nodes);
    for_each_node(g, [&](const node_state& node) {  // memory has one executable at a time
        possible = possible && (node.action.memory == nullptr || node.action.memory->execs == 0);
    });
    if (!possible) {
        why = error_invalid_value;
        return nullptr;
    }
    auto listed = list_references(g);
    made->handle = make_handle<graph_exec>(d.handles.add(handle_kind::exec, made.get()));
    made->references = claim(std::move(listed));
    count_execs(*made, 1);
    ++d.execs;
    return made.release();
}

void destroy_exec(exec_state& exec, object_list& due) {
    the_driver().handles.remove(handle_bits(exec.handle));
    if (exec.completed == exec.launched) {
        free_exec(exec, due);
    } else {
        exec.destroyed = true;
    }
}

exec_state* find_exec(graph_exec handle) {
    result why;
    return static_cast<exec_state*>(
        the_driver().handles.find(handle_kind::exec, handle_bits(handle), why));
}

node_state* find_copy(graph_state& nodes, graph_node original, bool in_children) {
    for (const auto& node : nodes.nodes) {
        if (node->original == original) {
            return node.get();
        }
        if (in_children && node->child != nullptr) {
            if (node_state* found = find_copy(*node->child, original, true); found != nullptr) {
                return found;
            }
        }
    }
    return nullptr;
}

bool set_action(node_state& node, const node_action& action) {
    if (!can_replace(node.action, action)) {
        return false;
    }
    node.action = action;
    return true;
}

bool set_child(exec_state& exec, node_state& node, const graph_state& child) {
    if (node.child == nullptr || compare(*node.child, child).outcome != exec_update_success) {
        return false;
    }
    // What the old child kept alive stays so too, until the executable is updated or destroyed.
    auto listed = list_references(child);
    auto& kept = exec.references->list;
    kept.reserve(kept.size() + listed->list.size());
    const std::unique_ptr<reference_set> claimed(claim(std::move(listed)));
    kept.insert(kept.end(), claimed->list.begin(), claimed->list.end());
    take_over(*node.child, child);
    return true;
}

exec_update_result update_exec(exec_state& exec, const graph_state& g, object_list& due) {
    const exec_update_result found = compare(*exec.nodes, g);
    if (found.outcome == exec_update_success) {
        reference_set* const fresh = claim(list_references(g));
        take_over(*exec.nodes, g);
        let_go(exec.references, list_for(exec, due));
        exec.references = fresh;
    }
    return found;
}

result launch_exec(lock& held, exec_state& exec, stream_state& s) {
    const needs n = look_through(*exec.nodes);
    if (n.answer != success) {
        return n.answer;
    }
    if (n.runs_functions && !ensure_executor(*s.ctx)) {
        return error_out_of_memory;
    }
    reserve_operations(s, n.operations + 2, n.waits + 1);
    if (const result refused = allocate_for_launch(exec); refused != success) {
        return refused;
    }
    begin_append(s);
    if (exec.completed < exec.launched) {
        append_barrier(s, exec.marks, exec.launched);
    }
    for_each_leaf(*exec.nodes, [&](const node_state& node) { append_node(s, node.action); });
    ++exec.launched;
    ++exec.references->holders;
    work end{};
    end.kind = work_kind::end_launch;
    end.launch = {&exec, exec.references};
    append_work(s, end);
    drain(held);
    return success;
}

void complete_launch(const work::launch_work& w) {
    exec_state& exec = *w.exec;
    ++exec.completed;
    reach_marks(exec.marks, exec.completed);
    object_list& due = the_driver().dying;
    let_go(w.references, due);
    if (exec.destroyed && exec.completed == exec.launched) {
        free_exec(exec, due);
    }
}

}  // namespace hostlaunch::embedded
