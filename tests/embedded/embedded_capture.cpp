// SPDX-License-Identifier: Apache-2.0
// Stream capture: what is recorded, what is refused, and what that does to the capture.
#include "embedded/fixture.hpp"

namespace hostlaunch::embedded::test {
namespace {

class captures : public embedded_driver {
  protected:
    static capture_status status_of(stream s) {
        capture_status status{};
        EXPECT_EQ(cuStreamIsCapturing(s, &status), success);
        return status;
    }
    static void begin(stream s, capture_mode mode = capture_mode::relaxed) {
        ASSERT_EQ(cuStreamBeginCapture_v2(s, mode), success);
    }
    // Ends a valid capture and returns how many nodes it recorded.
    static std::size_t end(stream s) {
        graph g = nullptr;
        std::size_t count = 0;
        EXPECT_EQ(cuStreamEndCapture(s, &g), success);
        EXPECT_EQ(cuGraphGetNodes(g, nullptr, &count), success);
        EXPECT_EQ(cuGraphDestroy(g), success);
        return count;
    }
    static void expect_invalidated(stream s) {
        EXPECT_EQ(status_of(s), capture_status::invalidated);
        std::atomic<int> ran{0};
        EXPECT_EQ(cuLaunchHostFunc(s, count_up, &ran), error_stream_capture_invalidated);
        graph g = reinterpret_cast<graph>(1);
        EXPECT_EQ(cuStreamEndCapture(s, &g), error_stream_capture_invalidated);
        EXPECT_EQ(g, nullptr);
        EXPECT_EQ(status_of(s), capture_status::none);
        EXPECT_EQ(cuLaunchHostFunc(s, count_up, &ran), success);
        EXPECT_EQ(cuStreamSynchronize(s), success);
        EXPECT_EQ(ran, 1);
    }
    // Sets the calling thread's mode for a scope.
    class thread_mode {
      public:
        explicit thread_mode(capture_mode mode) : mode_(mode) {
            EXPECT_EQ(cuThreadExchangeStreamCaptureMode(&mode_), success);
        }
        ~thread_mode() { EXPECT_EQ(cuThreadExchangeStreamCaptureMode(&mode_), success); }

      private:
        capture_mode mode_;
    };
};

TEST_F(captures, work_on_a_capturing_stream_is_recorded_and_not_run) {
    const stream s = make_stream();
    std::atomic<int> ran{0};
    device_ptr memory = 0;
    ASSERT_EQ(cuMemAlloc_v2(&memory, 8), success);
    begin(s);
    EXPECT_EQ(status_of(s), capture_status::active);
    EXPECT_EQ(cuLaunchHostFunc(s, count_up, &ran), success);
    EXPECT_EQ(cuMemsetD8Async(memory, 1, 8, s), success);
    EXPECT_EQ(cuMemcpyAsync(memory, memory, 8, s), success);
    context ctx = nullptr;
    EXPECT_EQ(cuStreamGetCtx(s, &ctx), success);
    EXPECT_EQ(status_of(s), capture_status::active);
    EXPECT_EQ(hostlaunch_embedded_live("graphs"), 1);
    EXPECT_EQ(end(s), 3u);
    EXPECT_EQ(ran, 0);
    EXPECT_EQ(hostlaunch_embedded_live("pending"), 0);
    EXPECT_EQ(status_of(s), capture_status::none);
    EXPECT_EQ(cuMemFree_v2(memory), success);
}

TEST_F(captures, info_hands_out_id_graph_and_dependencies) {
    const stream s = make_stream();
    std::atomic<int> ran{0};
    capture_status status{};
    std::uint64_t id = 0;
    std::uint64_t next_id = 0;
    graph g = nullptr;
    const graph_node* deps = nullptr;
    const void* edges = nullptr;
    std::size_t count = 7;
    EXPECT_EQ(cuStreamGetCaptureInfo(s, &status, &id), success);
    EXPECT_EQ(status, capture_status::none);
    begin(s);
    EXPECT_EQ(cuStreamGetCaptureInfo_v2(s, &status, &id, &g, &deps, &count), success);
    EXPECT_EQ(status, capture_status::active);
    EXPECT_EQ(count, 0u);
    ASSERT_EQ(cuLaunchHostFunc(s, count_up, &ran), success);
    EXPECT_EQ(cuStreamGetCaptureInfo_v3(s, &status, nullptr, nullptr, &deps, &edges, &count),
              success);
    EXPECT_EQ(count, 1u);
    graph_node node = nullptr;
    std::size_t nodes = 1;
    EXPECT_EQ(cuGraphGetNodes(g, &node, &nodes), success);
    EXPECT_EQ(deps[0], node);
    EXPECT_EQ(cuGraphDestroy(g), error_illegal_state);
    EXPECT_EQ(status_of(s), capture_status::active);
    // As cuda.core does: the graph from the info is kept, none is asked for at the end.
    EXPECT_EQ(cuStreamEndCapture(s, nullptr), success);
    EXPECT_EQ(cuGraphDestroy(g), success);
    begin(s);
    EXPECT_EQ(cuStreamGetCaptureInfo(s, &status, &next_id), success);
    EXPECT_NE(next_id, id);
    EXPECT_EQ(end(s), 0u);
}

TEST_F(captures, events_fork_and_join_streams) {
    const stream origin = make_stream();
    const stream branch = make_stream();
    const event fork = make_event();
    const event join = make_event();
    std::atomic<int> ran{0};
    begin(origin);
    ASSERT_EQ(cuLaunchHostFunc(origin, count_up, &ran), success);
    ASSERT_EQ(cuEventRecord(fork, origin), success);
    ASSERT_EQ(cuStreamWaitEvent(branch, fork, 0), success);
    EXPECT_EQ(status_of(branch), capture_status::active);
    ASSERT_EQ(cuLaunchHostFunc(branch, count_up, &ran), success);
    ASSERT_EQ(cuEventRecord(join, branch), success);
    EXPECT_EQ(cuStreamWaitEvent(origin, join, 0), success);
    EXPECT_EQ(end(origin), 2u);
    EXPECT_EQ(status_of(branch), capture_status::none);
    EXPECT_EQ(cuEventQuery(join), error_captured_event);
    EXPECT_EQ(cuEventRecord(join, branch), success);
    EXPECT_EQ(cuEventQuery(join), success);
}

TEST_F(captures, an_unjoined_branch_ends_without_a_graph) {
    const stream origin = make_stream();
    const stream branch = make_stream();
    const event fork = make_event();
    std::atomic<int> ran{0};
    graph g = nullptr;
    begin(origin);
    ASSERT_EQ(cuEventRecord(fork, origin), success);
    ASSERT_EQ(cuStreamWaitEvent(branch, fork, 0), success);
    ASSERT_EQ(cuLaunchHostFunc(branch, count_up, &ran), success);
    EXPECT_EQ(cuStreamEndCapture(origin, &g), error_stream_capture_unjoined);
    EXPECT_EQ(g, nullptr);
    EXPECT_EQ(status_of(branch), capture_status::none);
}

TEST_F(captures, only_the_origin_and_only_its_thread_may_end_one) {
    const stream origin = make_stream();
    const stream branch = make_stream();
    const event fork = make_event();
    graph g = nullptr;
    EXPECT_EQ(cuStreamEndCapture(origin, &g), error_illegal_state);
    for (const capture_mode mode : {capture_mode::global, capture_mode::thread_local_mode}) {
        begin(origin, mode);
        EXPECT_EQ(cuStreamBeginCapture_v2(origin, capture_mode::global), error_illegal_state);
        background([&] {  // which ends it none the less, and drops its graph
            g = reinterpret_cast<graph>(1);
            EXPECT_EQ(cuStreamEndCapture(origin, &g), error_stream_capture_wrong_thread);
            EXPECT_EQ(g, nullptr);
        })
            .join();
        EXPECT_EQ(status_of(origin), capture_status::none);
        EXPECT_EQ(hostlaunch_embedded_live("graphs"), 0);
        EXPECT_EQ(cuStreamEndCapture(origin, &g), error_illegal_state);
    }
    begin(origin);
    ASSERT_EQ(cuEventRecord(fork, origin), success);
    ASSERT_EQ(cuStreamWaitEvent(branch, fork, 0), success);
    EXPECT_EQ(cuStreamEndCapture(branch, &g), error_stream_capture_unmatched);
    EXPECT_NE(cuStreamEndCapture(origin, &g), success);
}

TEST_F(captures, any_thread_may_end_a_relaxed_one) {
    const stream s = make_stream();
    begin(s, capture_mode::relaxed);
    background([&] { EXPECT_EQ(end(s), 0u); }).join();
}

TEST_F(captures, the_legacy_stream_cannot_capture_and_the_per_thread_one_can) {
    EXPECT_EQ(cuStreamBeginCapture_v2(nullptr, capture_mode::relaxed),
              error_stream_capture_unsupported);
    begin(stream_per_thread);
    EXPECT_EQ(status_of(stream_per_thread), capture_status::active);
    EXPECT_EQ(end(stream_per_thread), 0u);
}

// contract: S5
TEST_F(captures, asking_about_the_legacy_stream_leaves_a_blocking_capture_alone) {
    const stream s = make_stream(stream_default);
    begin(s);
    capture_status status{};
    EXPECT_EQ(cuStreamIsCapturing(nullptr, &status), error_stream_capture_implicit);
    EXPECT_EQ(cuStreamIsCapturing(stream_legacy, &status), error_stream_capture_implicit);
    EXPECT_EQ(status_of(s), capture_status::active);
    EXPECT_EQ(end(s), 0u);
}

TEST_F(captures, using_the_legacy_stream_invalidates_a_blocking_capture) {
    const stream s = make_stream(stream_default);
    std::atomic<int> ran{0};
    begin(s);
    EXPECT_EQ(cuLaunchHostFunc(nullptr, count_up, &ran), error_stream_capture_implicit);
    expect_invalidated(s);
    EXPECT_EQ(ran, 0);
}

TEST_F(captures, the_legacy_stream_works_while_a_non_blocking_stream_captures) {
    const stream s = make_stream(stream_non_blocking);
    std::atomic<int> ran{0};
    begin(s);
    EXPECT_EQ(cuLaunchHostFunc(nullptr, count_up, &ran), success);
    EXPECT_EQ(end(s), 0u);
    EXPECT_EQ(cuStreamSynchronize(nullptr), success);
    EXPECT_EQ(ran, 1);
}

TEST_F(captures, waiting_for_a_capturing_stream_invalidates_the_capture) {
    const stream s = make_stream();
    for (auto* call : {&cuStreamSynchronize, &cuStreamQuery}) {
        begin(s);
        EXPECT_EQ(call(s), error_stream_capture_unsupported);
        expect_invalidated(s);
    }
    begin(s);
    EXPECT_EQ(cuCtxSynchronize(), error_stream_capture_unsupported);
    expect_invalidated(s);
}

TEST_F(captures, a_captured_event_cannot_be_queried_and_doing_so_invalidates) {
    const stream s = make_stream();
    const event e = make_event();
    begin(s);
    ASSERT_EQ(cuEventRecord(e, s), success);
    EXPECT_EQ(cuEventQuery(e), error_captured_event);
    expect_invalidated(s);
}

TEST_F(captures, an_event_from_outside_isolates_and_one_from_another_capture_merges) {
    const stream first = make_stream();
    const stream second = make_stream();
    const stream outside = make_stream();
    const event e = make_event();
    ASSERT_EQ(cuEventRecord(e, outside), success);
    begin(first);
    EXPECT_EQ(cuStreamWaitEvent(first, e, 0), error_stream_capture_isolation);
    expect_invalidated(first);
    begin(first);
    begin(second);
    ASSERT_EQ(cuEventRecord(e, first), success);
    EXPECT_EQ(cuStreamWaitEvent(second, e, 0), error_stream_capture_merge);
    expect_invalidated(second);
    graph g = nullptr;
    cuStreamEndCapture(first, &g);
}

TEST_F(captures, a_stream_callback_is_refused) {
    const stream s = make_stream();
    begin(s);
    EXPECT_EQ(cuStreamAddCallback(
                  s, [](stream, result, void*) {}, nullptr, 0),
              error_stream_capture_unsupported);
    expect_invalidated(s);
}

// The table of modes: who is in whose way.
struct mode_case {
    capture_mode begun;    // the capture's mode
    capture_mode calling;  // the calling thread's mode
    bool same_thread;
    bool refused;
};

class capture_modes : public captures, public testing::WithParamInterface<mode_case> {};

TEST_P(capture_modes, an_unsafe_call_is_refused_as_the_table_says) {
    const mode_case c = GetParam();
    const stream s = make_stream();
    const event e = make_event();
    begin(s, c.begun);
    const auto call = [&] {
        ASSERT_EQ(cuCtxSetCurrent(ctx_), success);
        const thread_mode mode(c.calling);
        EXPECT_EQ(cuEventQuery(e), c.refused ? error_stream_capture_unsupported : success);
    };
    if (c.same_thread) {
        call();
    } else {
        background(call).join();
    }
    if (c.refused) {
        expect_invalidated(s);
    } else {
        EXPECT_EQ(end(s), 0u);
    }
}

using enum capture_mode;
INSTANTIATE_TEST_SUITE_P(table, capture_modes,
                         testing::Values(mode_case{global, global, true, true},
                                         mode_case{global, global, false, true},
                                         mode_case{global, thread_local_mode, true, true},
                                         mode_case{global, thread_local_mode, false, false},
                                         mode_case{global, relaxed, true, false},
                                         mode_case{global, relaxed, false, false},
                                         mode_case{thread_local_mode, global, true, true},
                                         mode_case{thread_local_mode, global, false, false},
                                         mode_case{relaxed, global, true, false},
                                         mode_case{relaxed, global, false, false}));

// contract: G4
TEST_F(captures, relaxed_background_work_leaves_a_global_capture_alone) {
    const stream s = make_stream();
    const event e = make_event();
    std::atomic<int> ran{0};
    device_ptr memory = 0;
    ASSERT_EQ(cuMemAlloc_v2(&memory, 8), success);
    begin(s, capture_mode::global);
    const auto release_things = [&] {
        ASSERT_EQ(cuCtxSetCurrent(ctx_), success);
        const thread_mode mode(capture_mode::relaxed);
        event mine = nullptr;
        EXPECT_EQ(cuEventQuery(e), success);
        EXPECT_EQ(cuEventCreate(&mine, 0), success);
        EXPECT_EQ(cuEventDestroy_v2(mine), success);
        EXPECT_EQ(cuMemFree_v2(memory), success);
    };
    background(release_things).join();
    EXPECT_EQ(cuLaunchHostFunc(s, count_up, &ran), success);
    EXPECT_EQ(end(s), 1u);
}

TEST_F(captures, a_destroyed_stream_takes_its_capture_along) {
    stream s = nullptr;
    ASSERT_EQ(cuStreamCreate(&s, 0), success);
    begin(s);
    EXPECT_EQ(cuStreamDestroy_v2(s), success);
    EXPECT_EQ(hostlaunch_embedded_live("graphs"), 0);
    capture_status status{};
    EXPECT_EQ(cuStreamIsCapturing(nullptr, &status), success);
}

}  // namespace
}  // namespace hostlaunch::embedded::test
