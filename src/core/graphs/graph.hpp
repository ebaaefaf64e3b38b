// SPDX-License-Identifier: Apache-2.0
// An executable graph: launched any number of times, updated in between.
//
// Threads and locks as graph_builder.hpp says. References to host functions attach to graphs, never
// to executables (the driver has no other way), so the graph that it was made from is kept: an
// update of one host function goes through it.
#pragma once

#include <memory>

#include "core/graphs/graph_builder.hpp"
#include "core/process/closable_mutex.hpp"

namespace hostlaunch::core {

class executable_graph {
  public:
    // Instantiates a built graph. requires: a current context.
    static status create(const std::shared_ptr<graph_source>& source,
                         std::unique_ptr<executable_graph>& out);

    ~executable_graph() { close(); }
    executable_graph(const executable_graph&) = delete;
    executable_graph& operator=(const executable_graph&) = delete;

    // Each refuses a stream that captures.
    status upload(stream_target target);
    status launch(stream_target target);

    // Takes over what another builder built, which must have the same topology. Launches in flight
    // are not affected. A failure changes nothing.
    status update(graph_builder& builder);

    // Gives one host node another function for future launches. On success the record belongs to
    // the graph; on failure nothing has changed.
    added update_callback(const graph_node_token& node, record& r, const host_call& call);

    // Launches in flight go on.
    void close() noexcept;
    bool is_closed() const noexcept { return uses_.is_closed(); }

    std::uint64_t value() const noexcept { return reinterpret_cast<std::uint64_t>(exec_); }

  private:
    executable_graph(abi::graph_exec exec, std::shared_ptr<graph_source> source) noexcept
        : exec_(exec), source_(std::move(source)) {}

    template <class F>
    auto locked(F&& f);
    template <class F>
    status on_free_stream(stream_target target, F&& f);

    // In this thread's turn.
    status own_source();
    added replace(graph_source::entry& entry, record& r, const host_call& call);
    status exchange(graph_source::entry& entry, const graph_source::entry& fresh);

    void last_out() noexcept;

    const abi::graph_exec exec_;
    closable_mutex uses_;  // to use source_ and the executable
    std::shared_ptr<graph_source> source_;
};

}  // namespace hostlaunch::core
