// SPDX-License-Identifier: Apache-2.0
// Captures: begin, add, end, give up.
#include "core/graphs/graph_builder.hpp"

#include <array>
#include <atomic>
#include <mutex>
#include <new>
#include <utility>

#include "core/graphs/graph.hpp"
#include "driver/driver.hpp"

namespace hostlaunch::core {
namespace {

using driver_library::api;

std::shared_ptr<graph_source> new_source() {
    static constinit std::atomic<std::uint64_t> last{0};
    auto source = std::make_shared<graph_source>();
    source->id = last.fetch_add(1, std::memory_order_relaxed) + 1;
    return source;
}

// False if there is no memory. Grows by doubling, which reserve alone would not.
bool has_room(std::vector<graph_source::entry>& entries) noexcept {
    if (entries.size() < entries.capacity()) return true;
    try {
        entries.reserve(entries.size() * 2 + 8);
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

// Makes builders that add to one capture take turns, ours and attached ones alike: they share its
// graph, and graphs are not thread-safe. Held across driver calls, after a builder's own mutex, by
// nothing but add_node. By capture id.
constinit std::array<std::mutex, 16> capture_mutexes{};

// The node, if it is the one that was given this call: others may have enqueued meanwhile.
abi::graph_node node_with(abi::graph_node tip, const host_call& given) noexcept {
    abi::host_node_params params{};
    if (tip == nullptr || api().graph_host_node_get_params(tip, &params) != abi::success) {
        return nullptr;
    }
    const bool same = params.fn == given.fn && params.user_data == given.user_data;
    return same ? tip : nullptr;
}

}  // namespace

template <class F>
auto graph_builder::locked(F&& f) {
    return uses_.take("builder", f, [this] { last_out(); });
}

status graph_builder::create(const std::shared_ptr<stream>& owner,
                             std::unique_ptr<graph_builder>& out) {
    const stream_target target = owner->target();
    if (!owner->guard().enter()) return refuse_closed("stream");
    out.reset(new (std::nothrow) graph_builder(target, owner, false));
    if (out != nullptr) return {};
    owner->guard().leave();
    throw std::bad_alloc();
}

status graph_builder::attach(stream_target target, const std::shared_ptr<stream>& owner,
                             std::unique_ptr<graph_builder>& out) {
    if (owner != nullptr && !owner->guard().enter()) return refuse_closed("stream");
    std::unique_ptr<graph_builder> made(new (std::nothrow) graph_builder(target, owner, true));
    if (made == nullptr) {
        if (owner != nullptr) owner->guard().leave();
        throw std::bad_alloc();
    }
    capture now;
    if (const status s = made->read(now); !s.ok()) return s;
    if (now.status == abi::capture_status::none) return refuse(misuse::not_building);
    if (now.status == abi::capture_status::invalidated) {
        return {abi::error_stream_capture_invalidated, nullptr};
    }
    made->source_ = new_source();
    made->capture_ = std::make_unique<abandoned_capture>();
    made->capture_->id = now.id;
    made->phase_ = phase::building;
    out = std::move(made);
    return {};
}

status graph_builder::read(capture& out) const noexcept {
    out = {};
    stream_target target = target_;
    const target_scope scope(target);
    if (!scope.status().ok()) return scope.status();
    const abi::graph_node* tips = nullptr;
    const void* edges = nullptr;
    std::size_t count = 0;
    const int code = api().stream_get_capture_info(target.handle, &out.status, &out.id, &out.graph,
                                                   &tips, &edges, &count);
    if (code == abi::success && out.status == abi::capture_status::active && count == 1) {
        out.tip = tips[0];
    }
    if (code == abi::error_stream_capture_implicit) return refuse(misuse::capturing);
    if (code == abi::error_invalid_context && is_default_stream(target.handle)) {
        return refuse(misuse::no_context);
    }
    return {code, "cuStreamGetCaptureInfo"};
}

status graph_builder::read_own(capture& out) const noexcept {
    if (phase_ == phase::built) return refuse(misuse::already_built);
    if (phase_ == phase::idle) return refuse(misuse::not_building);
    if (const status s = read(out); !s.ok()) return s;
    // An invalidated capture tells no id.
    const bool another = out.status == abi::capture_status::active && out.id != capture_->id;
    const bool none = out.status == abi::capture_status::none;
    return none || another ? refuse(misuse::not_building) : status{};
}

status graph_builder::begin(abi::capture_mode mode) {
    return locked([&] { return begin_capture(mode); });
}

status graph_builder::begin_capture(abi::capture_mode mode) {
    if (attached_) return refuse(misuse::foreign_capture);
    if (phase_ == phase::built) return refuse(misuse::already_built);
    capture now;
    if (const status s = read(now); !s.ok()) return s;
    if (now.status != abi::capture_status::none) {
        capture own;
        const bool again = phase_ == phase::building && read_own(own).ok();
        return refuse(again ? misuse::already_building : misuse::capturing);
    }
    auto begun = std::make_unique<abandoned_capture>(abandoned_capture{target_, 0, owner_});
    std::shared_ptr<graph_source> source = new_source();

    stream_target target = target_;
    const work_scope scope(target);
    if (!scope.status().ok()) return scope.status();
    if (const int code = api().stream_begin_capture(target.handle, mode)) {
        return {code, "cuStreamBeginCapture"};
    }
    if (const status s = read(now); !s.ok()) {
        const relaxed_capture relaxed;
        abi::graph unused = nullptr;
        api().stream_end_capture(target.handle, &unused);
        if (unused != nullptr) api().graph_destroy(unused);
        return s;
    }
    begun->id = now.id;
    capture_ = std::move(begun);
    source_ = std::move(source);
    phase_ = phase::building;
    only_thread_ =
        mode == abi::capture_mode::relaxed ? std::thread::id{} : std::this_thread::get_id();
    return {};
}

status graph_builder::end() {
    return locked([&] { return end_capture(); });
}

status graph_builder::end_capture() {
    if (attached_) return refuse(misuse::foreign_capture);
    capture now;
    const status own = read_own(now);
    if (!own.ok()) return own;
    // The driver says the same, but drops the capture too (measured on an H200).
    if (only_thread_ != std::thread::id{} && only_thread_ != std::this_thread::get_id()) {
        return {abi::error_stream_capture_wrong_thread, nullptr};
    }
    stream_target target = target_;
    const work_scope scope(target);
    if (!scope.status().ok()) return scope.status();
    abi::graph built = nullptr;
    const int code = api().stream_end_capture(target.handle, &built);
    if (code == abi::success) {
        source_->graph = built;
        phase_ = phase::built;
        return {};
    }
    // A failure that ends the capture drops its graph too.
    if (read(now).ok() && now.status == abi::capture_status::none) {
        phase_ = phase::idle;
        source_.reset();
    }
    return {code, "cuStreamEndCapture"};
}

added graph_builder::add(record& r, const host_call& call, graph_node_token* out) {
    return locked([&] { return add_node(r, call, out); });
}

// The function is owned by the graph before the node exists; a failure takes the payload back
// before it drops a reference.
added graph_builder::add_node(record& r, const host_call& call, graph_node_token* out) {
    capture now;
    if (const status s = read_own(now); !s.ok()) return {s};
    if (now.status == abi::capture_status::invalidated) {
        return {{abi::error_stream_capture_invalidated, nullptr}};
    }
    if (!has_room(source_->entries)) return {{abi::error_out_of_memory, nullptr}};

    const relaxed_capture mode;
    const std::lock_guard turn(capture_mutexes[now.id % capture_mutexes.size()]);
    held_record held;
    if (const added a = give_to_graph(r, call, now.graph, &held); !a.status.ok()) return a;
    stream_target target = target_;
    const target_scope scope(target);
    if (!scope.status().ok()) return take_back(r, held.t, scope.status());
    if (const int code = api().launch_host_func(target.handle, held.call.fn, held.call.user_data)) {
        return take_back(r, held.t, {code, "cuLaunchHostFunc"});
    }
    source_->entries.push_back({nullptr, held.object, held.call});
    const abi::graph_node node = read(now).ok() ? node_with(now.tip, held.call) : nullptr;
    source_->entries.back().node = node;
    *out = {node == nullptr ? 0 : source_->id, source_->entries.size() - 1};
    return {};
}

status graph_builder::refuse_unbuilt() const noexcept {
    if (attached_) return refuse(misuse::foreign_capture);
    return phase_ == phase::built ? status{} : refuse(misuse::not_built);
}

status graph_builder::complete(std::unique_ptr<executable_graph>& out) {
    return locked([&]() -> status {
        if (const status s = refuse_unbuilt(); !s.ok()) return s;
        stream_target target = target_;
        const work_scope scope(target);
        if (!scope.status().ok()) return scope.status();
        return executable_graph::create(source_, out);
    });
}

status graph_builder::built(std::shared_ptr<graph_source>* out) {
    return locked([&]() -> status {
        if (const status s = refuse_unbuilt(); !s.ok()) return s;
        *out = source_;
        return {};
    });
}

status graph_builder::is_building(bool* out) {
    return locked([&]() -> status {
        *out = false;
        if (phase_ != phase::building) return {};
        capture now;
        const status s = read_own(now);
        *out = s.ok();
        return s.code < 0 ? status{} : s;
    });
}

void graph_builder::close() noexcept {
    if (uses_.close()) last_out();
}

void graph_builder::last_out() noexcept {
    if (phase_ == phase::building && !attached_) {
        destroy_object(abandoned_capture_type, reinterpret_cast<std::uint64_t>(capture_.release()));
    } else if (owner_ != nullptr) {
        owner_->guard().leave();
    }
    source_.reset();
}

}  // namespace hostlaunch::core
