// SPDX-License-Identifier: Apache-2.0
// hostlaunch::graph_builder and graph over the core's objects.
#include "hostlaunch/graph.hpp"

#include "api/convert.hpp"
#include "core/graphs/graph.hpp"
#include "core/task/release.hpp"

namespace hostlaunch {
namespace {

using core::record;

// Hands a filled record to add(record, call); without success the payload is destroyed here.
template <class Add>
void add_function(record& r, const detail::task_type& type, const char* attempted, Add&& add) {
    r.type = &type;
    core::added made{core::status{}};
    try {
        made.status = core::enter_for_launch();
        if (made.status.ok()) made = add(r, core::host_call{});
    } catch (...) {  // no driver
        core::discard(r);
        throw;
    }
    core::discard(r, made);
    core::throw_if_failed(made.status, attempted);
}

// Calls f() once the thread may enter the driver; throws what fails.
template <class F>
void call_core(const char* attempted, F&& f) {
    core::throw_if_failed(core::enter_driver(), attempted);
    core::throw_if_failed(f(), attempted);
}

}  // namespace

graph_builder::graph_builder(std::unique_ptr<core::graph_builder> made) noexcept
    : impl_(std::move(made)) {}

graph_builder::graph_builder(const stream& of) {
    core::stream* owner = stream_ref(of).owner();
    call_core("graph_builder()", [&]() -> core::status {
        if (owner == nullptr) return core::refuse_closed("stream");
        return core::graph_builder::create(owner->shared_from_this(), impl_);
    });
}

graph_builder graph_builder::attach(stream_ref stream) {
    std::unique_ptr<core::graph_builder> made;
    call_core("graph_builder::attach", [&]() -> core::status {
        const use_of on(stream);
        if (!on.status().ok()) return on.status();
        std::shared_ptr<core::stream> owner;
        if (on.own() != nullptr) owner = on.own()->shared_from_this();
        return core::graph_builder::attach(on.target(), owner, made);
    });
    return graph_builder(std::move(made));
}

graph_builder::~graph_builder() = default;
graph_builder::graph_builder(graph_builder&&) noexcept = default;
graph_builder& graph_builder::operator=(graph_builder&&) noexcept = default;

graph_builder& graph_builder::begin_building(capture_mode mode) {
    call_core("graph_builder::begin_building",
              [&] { return impl_->begin(static_cast<abi::capture_mode>(mode)); });
    return *this;
}

graph_builder& graph_builder::end_building() {
    call_core("graph_builder::end_building", [&] { return impl_->end(); });
    return *this;
}

graph_node graph_builder::add(core::record* r, const detail::task_type& type) {
    core::graph_node_token token;
    add_function(*r, type, "graph_builder::callback",
                 [&](record& filled, const core::host_call& call) {
                     return impl_->add(filled, call, &token);
                 });
    return {token.source, token.place};
}

graph graph_builder::complete() {
    std::unique_ptr<core::executable_graph> made;
    call_core("graph_builder::complete", [&] { return impl_->complete(made); });
    return graph(std::move(made));
}

bool graph_builder::is_building() const {
    if (impl_->is_closed()) return false;
    bool building = false;
    call_core("graph_builder::is_building", [&] { return impl_->is_building(&building); });
    return building;
}

bool graph_builder::is_closed() const noexcept {
    return impl_->is_closed();
}
void graph_builder::close() noexcept {
    impl_->close();
}

graph::graph(std::unique_ptr<core::executable_graph> made) noexcept : impl_(std::move(made)) {}
graph::~graph() = default;
graph::graph(graph&&) noexcept = default;
graph& graph::operator=(graph&&) noexcept = default;

CUgraphExec_st* graph::handle() const noexcept {
    return reinterpret_cast<CUgraphExec_st*>(impl_->value());
}

void graph::upload(stream_ref stream) {
    call_core("graph::upload", [&] {
        const use_of on(stream);
        return on.status().ok() ? impl_->upload(on.target()) : on.status();
    });
}

void graph::launch(stream_ref stream) {
    constexpr const char* attempted = "graph::launch";
    core::throw_if_failed(core::enter_for_launch(), attempted);
    const use_of on(stream);
    core::throw_if_failed(on.status(), attempted);
    core::throw_if_failed(impl_->launch(on.target()), attempted);
}

void graph::update(graph_builder& builder) {
    call_core("graph::update", [&] { return impl_->update(*builder.impl_); });
}

void graph::replace(const graph_node& node, core::record* r, const detail::task_type& type) {
    add_function(*r, type, "graph::update_callback",
                 [&](record& filled, const core::host_call& call) {
                     return impl_->update_callback({node.source, node.place}, filled, call);
                 });
}

bool graph::is_closed() const noexcept {
    return impl_->is_closed();
}
void graph::close() noexcept {
    impl_->close();
}

}  // namespace hostlaunch
