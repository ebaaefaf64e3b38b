// SPDX-License-Identifier: Apache-2.0
// Building a graph by capturing a stream: captures of our own, and those that others began.
//
// Any thread may call any function at any time, `close` included: calls in progress end first, and
// a mutex makes them take turns. The mutex is held across driver calls (contract G1 allows it): it
// is taken without the GIL, never by `close`, never by a host function and never by a release.
// Every function enters the driver: call without the GIL and without other locks.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "core/graphs/capture.hpp"
#include "core/graphs/graph_source.hpp"
#include "core/graphs/graph_task.hpp"
#include "core/objects/stream.hpp"
#include "core/process/closable_mutex.hpp"

namespace hostlaunch::core {

class executable_graph;

class graph_builder {
  public:
    // For a stream of ours, which stays open until the builder is closed.
    static status create(const std::shared_ptr<stream>& owner, std::unique_ptr<graph_builder>& out);

    // Adopts the capture in progress on a stream, to which it then adds and which others end.
    // `owner` is the stream of ours behind the target, or null.
    static status attach(stream_target target, const std::shared_ptr<stream>& owner,
                         std::unique_ptr<graph_builder>& out);

    ~graph_builder() { close(); }
    graph_builder(const graph_builder&) = delete;
    graph_builder& operator=(const graph_builder&) = delete;

    status begin(abi::capture_mode mode);
    status end();

    // Adds a host node with the record's function behind what was captured so far. On success the
    // record belongs to the graph.
    added add(record& r, const host_call& call, graph_node_token* out);

    // An executable of what was built. It keeps the graph; the builder may make more of them.
    status complete(std::unique_ptr<executable_graph>& out);

    // What was built; misuse::not_built before that.
    status built(std::shared_ptr<graph_source>* out);

    // Whether its capture is in progress, invalidated or not.
    status is_building(bool* out);

    // Gives up a capture of its own in progress; only detaches from another library's. Never fails.
    void close() noexcept;
    bool is_closed() const noexcept { return uses_.is_closed(); }

    abi::stream raw_stream() const noexcept { return target_.handle; }
    const stream_target& target() const noexcept { return target_; }
    stream* owner() const noexcept { return owner_.get(); }  // null for a foreign stream

  private:
    enum class phase : std::uint8_t { idle, building, built };
    struct capture {
        abi::capture_status status = abi::capture_status::none;
        std::uint64_t id = 0;
        abi::graph graph = nullptr;
        abi::graph_node tip = nullptr;  // what the next node depends on, if it is one node
    };

    graph_builder(stream_target target, std::shared_ptr<stream> owner, bool attached) noexcept
        : target_(target), owner_(std::move(owner)), attached_(attached) {}

    // Calls f() when it is this thread's turn; refuses if the builder is closed.
    template <class F>
    auto locked(F&& f);

    // In this thread's turn.
    status begin_capture(abi::capture_mode mode);
    status end_capture();
    status read(capture& out) const noexcept;
    status read_own(capture& out) const noexcept;  // refuses if its capture is not in progress
    added add_node(record& r, const host_call& call, graph_node_token* out);
    status refuse_unbuilt() const noexcept;

    void last_out() noexcept;

    const stream_target target_;
    const std::shared_ptr<stream> owner_;  // in use while the builder is open; null if foreign
    const bool attached_;

    closable_mutex uses_;  // to use what follows, and the driver's capture
    phase phase_ = phase::idle;
    std::unique_ptr<abandoned_capture> capture_;  // ours, what close needs; made by begin
    std::thread::id only_thread_;                 // that may end the capture; none: any may
    std::shared_ptr<graph_source> source_;        // filled while building, complete once built
};

}  // namespace hostlaunch::core
