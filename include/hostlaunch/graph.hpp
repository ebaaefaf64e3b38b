// SPDX-License-Identifier: Apache-2.0
// Host functions in CUDA graphs: a builder that captures a stream, and the graph made from it.
//
// A host function of a graph runs once for each launch of the graph, in its place in the order, on
// a thread that the driver owns. It lives as long as anything can still run it: the graph, its
// executables, launches in flight. Once nothing can, it is destroyed once, on a thread of the
// library (never the driver's, unless destruction is trivial and does nothing). Memory and events
// that captured work uses are the caller's to keep.
//
// Any thread may call any member at any time, but for moves and destruction; calls take turns.
// Members that are not noexcept throw `error` as those of `stream` do, and what is named with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "hostlaunch/detail/closure.hpp"
#include "hostlaunch/stream.hpp"

struct CUgraphExec_st;

namespace hostlaunch {

namespace core {
class executable_graph;
class graph_builder;
}  // namespace core

// Which calls elsewhere a capture forbids while it lasts (CUstreamCaptureMode). In the first two
// only the thread that began it can end it.
enum class capture_mode : int { global = 0, thread_local_mode = 1, relaxed = 2 };

// A host function's place in the graphs made from one builder.
struct graph_node {
    std::uint64_t source = 0;
    std::size_t place = 0;
};

namespace detail {

// Runs the closure in place, any number of times and perhaps at once on several threads.
template <class F, class... Args>
struct repeated_closure : closure<F, Args...> {
    using once = closure<F, Args...>;
    static outcome run(void* storage) {
        const closure_use use(storage);
        auto& content = once::get(storage);
        std::apply([&content](Args&... args) { (void)std::invoke(content.fn, args...); },
                   content.args);
        return outcome::ran;
    }
    static constexpr task_type type{&run, once::trivial ? nullptr : &once::destroy};
};

template <class F, class... Args>
using repeated = repeated_closure<std::decay_t<F>, std::decay_t<Args>...>;

// A record that holds copies of fn and args.
template <class F, class... Args>
core::record* record_of(F&& fn, Args&&... args) {
    core::record* const made = acquire();
    try {
        repeated<F, Args...>::construct(storage_of(made), std::forward<F>(fn),
                                        std::forward<Args>(args)...);
    } catch (...) {
        give_back(made);
        throw;
    }
    return made;
}

}  // namespace detail

class graph;

// Records the work of its stream instead of running it, from begin_building to end_building.
class HOSTLAUNCH_API graph_builder {
  public:
    // The stream stays open until the builder is closed, even if it is closed or destroyed before.
    // Throws misuse::closed if it is closed by now.
    explicit graph_builder(const stream& of);

    // Adopts the capture that is in progress on a stream and that other code began and will end;
    // end_building and complete throw, close only detaches. Throws misuse::not_building if there is
    // none, as later calls do once that capture has ended. The stream outlives the builder.
    static graph_builder attach(stream_ref stream);

    ~graph_builder();  // closes
    graph_builder(graph_builder&&) noexcept;
    graph_builder& operator=(graph_builder&&) noexcept;

    // Throws misuse::already_building, already_built, foreign_capture (attached), or capturing if
    // the stream captures for somebody else.
    graph_builder& begin_building(capture_mode mode = capture_mode::relaxed);

    // Throws the driver's error for a capture that was invalidated or has unjoined streams; then
    // nothing was built, and begin_building may be called again. Throws misuse::not_building,
    // already_built or foreign_capture, and CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD if only another
    // thread can end the capture; then it goes on.
    graph_builder& end_building();

    // Adds fn and decay-copied arguments behind what was captured so far, for std::invoke(fn,
    // args...) in each run. Failing, it adds and keeps nothing. Throws misuse::not_building or
    // already_built, CUDA_ERROR_INVALID_VALUE for a null fn, std::bad_alloc, what copying throws.
    template <class F, class... Args>
        requires detail::relaunchable<F, Args...>
    graph_node callback(F&& fn, Args&&... args) {
        return add(detail::record_of(std::forward<F>(fn), std::forward<Args>(args)...),
                   detail::repeated<F, Args...>::type);
    }
    template <class F, class... Args>
        requires(!detail::relaunchable<F, Args...>)
    error_the_callable_cannot_be_copied_or_called_with_copies_of_these_arguments callback(
        F&&, Args&&...) = delete;

    // May be called more than once. Throws misuse::not_built or foreign_capture.
    graph complete();

    bool is_building() const;  // asks the driver, unless the builder is closed: then false
    bool is_closed() const noexcept;

    // Gives a capture of its own in progress up; graphs made from it are not affected. Never fails.
    void close() noexcept;

  private:
    friend class graph;
    explicit graph_builder(std::unique_ptr<core::graph_builder> made) noexcept;
    graph_node add(core::record* r, const detail::task_type& type);

    std::unique_ptr<core::graph_builder> impl_;
};

// An executable graph. Its launches never overlap, whichever streams they are on.
class HOSTLAUNCH_API graph {
  public:
    ~graph();  // closes
    graph(graph&&) noexcept;
    graph& operator=(graph&&) noexcept;

    CUgraphExec_st* handle() const noexcept;

    // Prepares the graph on the device ahead of a launch. Throws as launch does.
    void upload(stream_ref stream);

    // Enqueues one run. Throws misuse::capturing for a stream that captures.
    void launch(stream_ref stream);

    // Takes over what another builder built with the same topology, for future launches. A failed
    // update changes nothing. Throws misuse::not_built or foreign_capture,
    // CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE if the topologies differ.
    void update(graph_builder& builder);

    // Gives one node another function for future launches; launches in flight keep the former one.
    // Failing, it changes nothing. Throws misuse::foreign_node for a node of another builder,
    // CUDA_ERROR_INVALID_VALUE for a null fn, std::bad_alloc, what copying throws.
    template <class F, class... Args>
        requires detail::relaunchable<F, Args...>
    void update_callback(const graph_node& node, F&& fn, Args&&... args) {
        replace(node, detail::record_of(std::forward<F>(fn), std::forward<Args>(args)...),
                detail::repeated<F, Args...>::type);
    }
    template <class F, class... Args>
        requires(!detail::relaunchable<F, Args...>)
    error_the_callable_cannot_be_copied_or_called_with_copies_of_these_arguments update_callback(
        const graph_node&, F&&, Args&&...) = delete;

    bool is_closed() const noexcept;

    // Launches in flight go on. Never fails.
    void close() noexcept;

  private:
    friend class graph_builder;
    explicit graph(std::unique_ptr<core::executable_graph> made) noexcept;
    void replace(const graph_node& node, core::record* r, const detail::task_type& type);

    std::unique_ptr<core::executable_graph> impl_;
};

// As builder.callback(fn, args...).
template <class F, class... Args>
    requires detail::relaunchable<F, Args...>
void host_launch(graph_builder& builder, F&& fn, Args&&... args) {
    (void)builder.callback(std::forward<F>(fn), std::forward<Args>(args)...);
}

template <class F, class... Args>
    requires(!detail::relaunchable<F, Args...>)
error_the_callable_cannot_be_copied_or_called_with_copies_of_these_arguments host_launch(
    graph_builder&, F&&, Args&&...) = delete;

}  // namespace hostlaunch
