// SPDX-License-Identifier: Apache-2.0
// Instantiates, launches and updates graphs.
#include "core/graphs/graph.hpp"

#include <mutex>
#include <new>
#include <utility>

#include "core/objects/capture_check.hpp"
#include "driver/driver.hpp"

namespace hostlaunch::core {
namespace {

using driver_library::api;

constexpr object_type graph_exec_type{[](std::uint64_t value) noexcept {
    return api().graph_exec_destroy(reinterpret_cast<abi::graph_exec>(value));
}};

// A copy of a graph that others share, with the same nodes in the same places.
status clone(graph_source& original, std::shared_ptr<graph_source>& out) {
    auto made = std::make_shared<graph_source>();
    const std::lock_guard turn(original.mutex);
    made->id = original.id;
    made->entries = original.entries;
    if (const int code = api().graph_clone(&made->graph, original.graph)) {
        made->graph = nullptr;
        return {code, "cuGraphClone"};
    }
    for (graph_source::entry& entry : made->entries) {
        if (entry.node == nullptr) continue;
        if (const int code = api().graph_node_find_in_clone(&entry.node, entry.node, made->graph)) {
            return {code, "cuGraphNodeFindInClone"};
        }
    }
    out = std::move(made);
    return {};
}

status give_to_node(const graph_source::entry& entry) noexcept {
    const abi::host_node_params params{entry.call.fn, entry.call.user_data};
    return {api().graph_host_node_set_params(entry.node, &params), "cuGraphHostNodeSetParams"};
}

status update_executable(abi::graph_exec exec, abi::graph from) noexcept {
    abi::exec_update_result outcome{};
    return {api().graph_exec_update(exec, from, &outcome), "cuGraphExecUpdate"};
}

}  // namespace

template <class F>
auto executable_graph::locked(F&& f) {
    return uses_.take("graph", f, [this] { last_out(); });
}

status executable_graph::create(const std::shared_ptr<graph_source>& source,
                                std::unique_ptr<executable_graph>& out) {
    const relaxed_capture mode;
    const std::lock_guard turn(source->mutex);
    abi::graph_exec exec = nullptr;
    if (const int code = api().graph_instantiate(&exec, source->graph, 0)) {
        return {code, "cuGraphInstantiateWithFlags"};
    }
    out.reset(new (std::nothrow) executable_graph(exec, source));
    if (out != nullptr) return {};
    api().graph_exec_destroy(exec);
    return {abi::error_out_of_memory, nullptr};
}

template <class F>
status executable_graph::on_free_stream(stream_target target, F&& f) {
    return locked([&]() -> status {
        const target_scope defaults(target);  // the capture that counts is the named device's
        if (!defaults.status().ok()) return defaults.status();
        if (const status s = check_capture(target.handle); !s.ok()) return s;
        const work_scope scope(target);
        return scope.status().ok() ? f() : scope.status();
    });
}

status executable_graph::upload(stream_target target) {
    return on_free_stream(target, [&]() -> status {
        const relaxed_capture mode;
        return {api().graph_upload(exec_, target.handle), "cuGraphUpload"};
    });
}

status executable_graph::launch(stream_target target) {
    return on_free_stream(target, [&]() -> status {
        return {api().graph_launch(exec_, target.handle), "cuGraphLaunch"};
    });
}

status executable_graph::update(graph_builder& builder) {
    std::shared_ptr<graph_source> source;
    if (const status s = builder.built(&source); !s.ok()) return s;
    return locked([&]() -> status {
        const relaxed_capture mode;
        {
            const std::lock_guard turn(source->mutex);
            const status s = update_executable(exec_, source->graph);
            if (!s.ok()) return s;
        }
        source_.swap(source);  // the former dies once the mutex is free again
        return {};
    });
}

// Makes source_ this executable's alone, so that a change of a node is nobody else's.
status executable_graph::own_source() {
    // Only the holder of this mutex makes further holders of a source that has no other.
    if (source_.use_count() == 1) return {};
    try {
        std::shared_ptr<graph_source> copy;
        if (const status s = clone(*source_, copy); !s.ok()) return s;
        source_ = std::move(copy);
        return {};
    } catch (const std::bad_alloc&) {
        return {abi::error_out_of_memory, nullptr};
    }
}

added executable_graph::update_callback(const graph_node_token& node, record& r,
                                        const host_call& call) {
    return locked([&]() -> added {
        if (node.source != source_->id || node.place >= source_->entries.size()) {
            return {refuse(misuse::foreign_node)};
        }
        const relaxed_capture mode;
        if (const status s = own_source(); !s.ok()) return {s};
        const std::lock_guard turn(source_->mutex);
        return replace(source_->entries[node.place], r, call);
    });
}

// The function is owned by the graph before the node has it; the rest is in exchange.
added executable_graph::replace(graph_source::entry& entry, record& r, const host_call& call) {
    held_record held;
    if (const added a = give_to_graph(r, call, source_->graph, &held); !a.status.ok()) return a;
    const graph_source::entry fresh{entry.node, held.object, held.call};
    const status s = exchange(entry, fresh);
    if (s.ok()) return {};
    // The node could not be given its former function again: the new one stays with the graph.
    if (entry.object == fresh.object) return {s, false};
    const added back = take_back(r, held.t, s);
    api().graph_release_user_object(source_->graph, fresh.object, 1);
    return back;
}

// Gives the node its new function, drops the graph's reference to the former one and takes the
// source over into the executable, or undoes that in reverse. `entry` says what the node has
// afterwards. A reference of our own keeps the former function meanwhile; should the graph not take
// it back, it stays ours for good.
status executable_graph::exchange(graph_source::entry& entry, const graph_source::entry& fresh) {
    const abi::graph graph = source_->graph;
    const graph_source::entry former = entry;
    bool ours = former.object != nullptr;
    if (ours) {
        if (const int code = api().user_object_retain(former.object, 1)) {
            return {code, "cuUserObjectRetain"};
        }
    }
    status s = give_to_node(fresh);
    const bool given = s.ok();
    if (s.ok() && ours) {
        s = {api().graph_release_user_object(graph, former.object, 1), "cuGraphReleaseUserObject"};
    }
    if (s.ok()) {
        s = update_executable(exec_, graph);
        if (!s.ok() && ours) {
            ours = false;
            if (api().graph_retain_user_object(graph, former.object, 1,
                                               abi::graph_user_object_move) != abi::success) {
                entry.object = nullptr;
            }
        }
    }
    if (given && (s.ok() || !give_to_node(former).ok())) entry = fresh;
    if (ours) api().user_object_release(former.object, 1);
    return s;
}

void executable_graph::close() noexcept {
    if (uses_.close()) last_out();
}

void executable_graph::last_out() noexcept {
    destroy_object(graph_exec_type, value());
    source_.reset();
}

}  // namespace hostlaunch::core
