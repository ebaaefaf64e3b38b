// SPDX-License-Identifier: Apache-2.0
// Replay of graphs: what a launch runs, in which order, and what it copies.
#include <array>
#include <cstring>

#include "embedded/graph_fixture.hpp"

namespace hostlaunch::embedded::test {
namespace {

using replay = embedded_driver;

struct note {
    std::vector<int>* list;
    int number;
    static void write(void* self) {
        auto* n = static_cast<note*>(self);
        n->list->push_back(n->number);
    }
};

// contract: B3
TEST_F(replay, each_launch_runs_the_functions_once_more_in_their_order) {
    constexpr int count = 300;
    const stream s = make_stream();
    std::vector<int> seen;
    std::vector<note> notes;
    for (int i = 0; i < count; ++i) {
        notes.push_back({&seen, i});
    }
    const graph g = capture(s, [&] {
        for (note& n : notes) {
            ASSERT_EQ(cuLaunchHostFunc(s, note::write, &n), success);
        }
    });
    const graph_exec exec = instantiate(g);
    ASSERT_EQ(cuGraphUpload(exec, s), success);
    EXPECT_EQ(cuStreamSynchronize(s), success);
    EXPECT_TRUE(seen.empty());
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(cuGraphLaunch(exec, s), success);
    }
    ASSERT_EQ(cuStreamSynchronize(s), success);
    ASSERT_EQ(seen.size(), std::size_t{3 * count});
    for (int i = 0; i < 3 * count; ++i) {
        ASSERT_EQ(seen[static_cast<std::size_t>(i)], i % count);
    }
    EXPECT_EQ(cuGraphExecDestroy(exec), success);
    EXPECT_EQ(cuGraphDestroy(g), success);
}

TEST_F(replay, a_launch_takes_its_place_in_the_stream) {
    const stream s = make_stream();
    std::vector<int> seen;
    std::array<note, 3> notes{{{&seen, 0}, {&seen, 1}, {&seen, 2}}};
    const graph g =
        capture(s, [&] { ASSERT_EQ(cuLaunchHostFunc(s, note::write, &notes[1]), success); });
    const graph_exec exec = instantiate(g);
    ASSERT_EQ(cuGraphDestroy(g), success);
    blocker b;
    ASSERT_EQ(cuLaunchHostFunc(s, blocker::run, &b), success);
    ASSERT_EQ(cuLaunchHostFunc(s, note::write, &notes[0]), success);
    ASSERT_EQ(cuGraphLaunch(exec, s), success);
    ASSERT_EQ(cuLaunchHostFunc(s, note::write, &notes[2]), success);
    EXPECT_EQ(cuStreamQuery(s), error_not_ready);
    b.let_go();
    ASSERT_EQ(cuStreamSynchronize(s), success);
    EXPECT_EQ(seen, (std::vector<int>{0, 1, 2}));
    EXPECT_EQ(cuGraphExecDestroy(exec), success);
}

// One launch of an executable ends before the next begins, whichever streams they are in.
TEST_F(replay, launches_of_one_executable_run_one_after_the_other_on_any_streams) {
    const stream first = make_stream();
    const stream second = make_stream();
    std::atomic<int> ran{0};
    blocker b;
    const graph g = capture(first, [&] {
        ASSERT_EQ(cuLaunchHostFunc(first, count_up, &ran), success);
        ASSERT_EQ(cuLaunchHostFunc(first, blocker::run, &b), success);
    });
    hostlaunch_embedded_set_threads(hostlaunch_embedded_threads_per_stream);
    const graph_exec exec = instantiate(g);
    ASSERT_EQ(cuGraphLaunch(exec, first), success);
    b.wait_until_running();
    ASSERT_EQ(cuGraphLaunch(exec, second), success);
    ASSERT_EQ(cuGraphLaunch(exec, first), success);
    give_it_time();
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(cuStreamQuery(second), error_not_ready);
    b.let_go();
    EXPECT_EQ(cuStreamSynchronize(first), success);
    EXPECT_EQ(cuStreamSynchronize(second), success);
    EXPECT_EQ(ran, 3);
    EXPECT_EQ(cuGraphExecDestroy(exec), success);
    EXPECT_EQ(cuGraphDestroy(g), success);
}

TEST_F(replay, two_executables_of_one_graph_do_not_wait_for_each_other) {
    const stream first = make_stream();
    const stream second = make_stream();
    std::atomic<int> ran{0};
    device_ptr word = 0;
    ASSERT_EQ(cuMemAlloc_v2(&word, 4), success);
    ASSERT_EQ(cuMemsetD8Async(word, 0, 4, first), success);
    ASSERT_EQ(cuStreamSynchronize(first), success);
    const graph g = capture_counts(first, {&ran});
    const std::array<graph_exec, 2> execs{instantiate(g), instantiate(g)};
    ASSERT_EQ(cuStreamWaitValue32_v2(first, word, 1, 1), success);
    ASSERT_EQ(cuGraphLaunch(execs[0], first), success);
    ASSERT_EQ(cuGraphLaunch(execs[1], second), success);
    EXPECT_EQ(cuStreamSynchronize(second), success);
    EXPECT_EQ(ran, 1);
    ASSERT_EQ(cuStreamWriteValue32_v2(second, word, 1, 0), success);
    EXPECT_EQ(cuStreamSynchronize(first), success);
    EXPECT_EQ(ran, 2);
    for (const graph_exec exec : execs) {
        EXPECT_EQ(cuGraphExecDestroy(exec), success);
    }
    EXPECT_EQ(cuGraphDestroy(g), success);
    EXPECT_EQ(cuMemFree_v2(word), success);
}

TEST_F(replay, memory_is_read_and_written_at_replay_time) {
    const stream s = make_stream();
    device_ptr memory = 0;
    ASSERT_EQ(cuMemAlloc_v2(&memory, 64), success);
    std::array<unsigned char, 64> in{};
    std::array<unsigned char, 64> out{};
    const graph g = capture(s, [&] {
        ASSERT_EQ(cuMemcpyHtoDAsync_v2(memory, in.data(), 64, s), success);
        ASSERT_EQ(cuMemsetD8Async(memory, 7, 32, s), success);
        ASSERT_EQ(cuStreamWriteValue32_v2(s, memory + 4, 0x01020304, 0), success);
        ASSERT_EQ(cuStreamWaitValue32_v2(s, memory + 4, 0x01020304, 1), success);
        ASSERT_EQ(cuMemcpyDtoHAsync_v2(out.data(), memory, 64, s), success);
    });
    const graph_exec exec = instantiate(g);
    for (const unsigned char value : {std::uint8_t{3}, std::uint8_t{5}}) {
        in.fill(value);
        ASSERT_EQ(cuGraphLaunch(exec, s), success);
        ASSERT_EQ(cuStreamSynchronize(s), success);
        EXPECT_EQ(out[0], 7);
        EXPECT_EQ(out[4], 4);
        EXPECT_EQ(out[63], value);
    }
    EXPECT_EQ(cuGraphExecDestroy(exec), success);
    EXPECT_EQ(cuGraphDestroy(g), success);
    EXPECT_EQ(cuMemFree_v2(memory), success);
}

TEST_F(replay, branches_of_a_capture_all_run_after_what_they_depend_on) {
    const stream s = make_stream();
    const stream branch = make_stream();
    const event fork = make_event();
    const event join = make_event();
    std::vector<int> seen;
    std::array<note, 4> notes{{{&seen, 0}, {&seen, 1}, {&seen, 2}, {&seen, 3}}};
    const graph g = capture(s, [&] {
        ASSERT_EQ(cuLaunchHostFunc(s, note::write, &notes[0]), success);
        ASSERT_EQ(cuEventRecord(fork, s), success);
        ASSERT_EQ(cuStreamWaitEvent(branch, fork, 0), success);
        ASSERT_EQ(cuLaunchHostFunc(branch, note::write, &notes[1]), success);
        ASSERT_EQ(cuLaunchHostFunc(s, note::write, &notes[2]), success);
        ASSERT_EQ(cuEventRecord(join, branch), success);
        ASSERT_EQ(cuStreamWaitEvent(s, join, 0), success);
        ASSERT_EQ(cuLaunchHostFunc(s, note::write, &notes[3]), success);
    });
    const graph_exec exec = instantiate(g);
    ASSERT_EQ(cuGraphLaunch(exec, s), success);
    ASSERT_EQ(cuStreamSynchronize(s), success);
    ASSERT_EQ(seen.size(), 4u);
    EXPECT_EQ(seen.front(), 0);
    EXPECT_EQ(seen.back(), 3);
    EXPECT_EQ(cuGraphExecDestroy(exec), success);
    EXPECT_EQ(cuGraphDestroy(g), success);
}

TEST_F(replay, external_events_are_recorded_and_waited_for_by_each_launch) {
    const stream s = make_stream();
    const stream other = make_stream();
    const event recorded = make_event();
    const event awaited = make_event();
    std::atomic<int> ran{0};
    const graph g = capture(s, [&] {
        ASSERT_EQ(cuStreamWaitEvent(s, awaited, 1), success);
        ASSERT_EQ(cuLaunchHostFunc(s, count_up, &ran), success);
        ASSERT_EQ(cuEventRecordWithFlags(recorded, s, 1), success);
    });
    const graph_exec exec = instantiate(g);
    hostlaunch_embedded_set_threads(hostlaunch_embedded_threads_per_stream);
    blocker b;
    ASSERT_EQ(cuLaunchHostFunc(other, blocker::run, &b), success);
    ASSERT_EQ(cuEventRecord(awaited, other), success);
    ASSERT_EQ(cuGraphLaunch(exec, s), success);
    EXPECT_EQ(cuEventQuery(recorded), error_not_ready);
    EXPECT_EQ(ran, 0);
    b.let_go();
    EXPECT_EQ(cuEventSynchronize(recorded), success);
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(cuGraphExecDestroy(exec), success);
    EXPECT_EQ(cuGraphDestroy(g), success);
}

TEST_F(replay, an_event_that_is_gone_fails_the_launch_as_a_whole) {
    const stream s = make_stream();
    std::atomic<int> ran{0};
    event gone = nullptr;
    ASSERT_EQ(cuEventCreate(&gone, event_disable_timing), success);
    const graph g = capture(s, [&] {
        ASSERT_EQ(cuLaunchHostFunc(s, count_up, &ran), success);
        ASSERT_EQ(cuEventRecordWithFlags(gone, s, 1), success);
    });
    const graph_exec exec = instantiate(g);
    ASSERT_EQ(cuEventDestroy_v2(gone), success);
    EXPECT_EQ(cuGraphLaunch(exec, s), error_invalid_handle);
    EXPECT_EQ(cuStreamSynchronize(s), success);
    EXPECT_EQ(ran, 0);
    EXPECT_EQ(cuGraphExecDestroy(exec), success);
    EXPECT_EQ(cuGraphDestroy(g), success);
}

TEST_F(replay, an_empty_graph_can_be_launched) {
    const stream s = make_stream();
    const graph g = capture(s, [] {});
    const graph_exec exec = instantiate(g);
    EXPECT_EQ(cuGraphLaunch(exec, s), success);
    EXPECT_EQ(cuGraphLaunch(exec, nullptr), success);
    EXPECT_EQ(cuGraphLaunch(exec, stream_per_thread), success);
    EXPECT_EQ(cuStreamSynchronize(s), success);
    EXPECT_EQ(cuGraphExecDestroy(exec), success);
    EXPECT_EQ(cuGraphDestroy(g), success);
}

TEST_F(replay, the_legacy_stream_waits_for_blocking_streams_before_it_launches) {
    const stream blocking = make_stream(stream_default);
    std::atomic<int> ran{0};
    const graph g = capture_counts(blocking, {&ran});
    const graph_exec exec = instantiate(g);
    blocker b;
    hostlaunch_embedded_set_threads(hostlaunch_embedded_threads_per_stream);
    ASSERT_EQ(cuLaunchHostFunc(blocking, blocker::run, &b), success);
    ASSERT_EQ(cuGraphLaunch(exec, nullptr), success);
    give_it_time();
    EXPECT_EQ(ran, 0);
    b.let_go();
    EXPECT_EQ(cuStreamSynchronize(nullptr), success);
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(cuGraphExecDestroy(exec), success);
    EXPECT_EQ(cuGraphDestroy(g), success);
}

TEST_F(replay, launching_into_a_capture_is_refused_and_invalidates_it) {
    const stream s = make_stream();
    std::atomic<int> ran{0};
    const graph g = capture_counts(s, {&ran});
    const graph_exec exec = instantiate(g);
    graph none = nullptr;
    ASSERT_EQ(cuStreamBeginCapture_v2(s, capture_mode::relaxed), success);
    EXPECT_EQ(cuGraphLaunch(exec, s), error_stream_capture_unsupported);
    EXPECT_EQ(cuGraphLaunch(exec, s), error_stream_capture_invalidated);
    EXPECT_EQ(cuStreamEndCapture(s, &none), error_stream_capture_invalidated);
    EXPECT_EQ(cuGraphLaunch(exec, s), success);
    EXPECT_EQ(cuStreamSynchronize(s), success);
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(cuGraphExecDestroy(exec), success);
    EXPECT_EQ(cuGraphDestroy(g), success);
}

TEST_F(replay, an_executable_can_be_launched_from_other_streams_during_a_capture) {
    const stream s = make_stream();
    const stream captures = make_stream();
    std::atomic<int> ran{0};
    const graph g = capture_counts(s, {&ran});
    const graph_exec exec = instantiate(g);
    const graph other = capture(captures, [&] {
        EXPECT_EQ(cuGraphLaunch(exec, s), success);
        EXPECT_EQ(cuGraphExecDestroy(exec), success);  // the capture is relaxed
    });
    EXPECT_EQ(cuStreamSynchronize(s), success);
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(cuGraphDestroy(other), success);
    EXPECT_EQ(cuGraphDestroy(g), success);
}

TEST_F(replay, destroying_an_executable_during_a_global_capture_is_refused) {
    const stream s = make_stream();
    const graph g = capture(s, [] {});
    const graph_exec exec = instantiate(g);
    graph none = nullptr;
    ASSERT_EQ(cuStreamBeginCapture_v2(s, capture_mode::global), success);
    EXPECT_EQ(cuGraphExecDestroy(exec), error_stream_capture_unsupported);
    EXPECT_EQ(cuStreamEndCapture(s, &none), error_stream_capture_invalidated);
    EXPECT_EQ(cuGraphExecDestroy(exec), success);
    EXPECT_EQ(cuGraphDestroy(g), success);
}

TEST_F(replay, a_whole_launch_is_pending_until_it_is_stepped) {
    const stream s = make_stream();
    std::atomic<int> ran{0};
    const graph g = capture_counts(s, {&ran, &ran, &ran});
    const graph_exec exec = instantiate(g);
    hostlaunch_embedded_set_manual(1);
    ASSERT_EQ(cuGraphLaunch(exec, s), success);
    ASSERT_EQ(cuGraphLaunch(exec, s), success);
    EXPECT_EQ(hostlaunch_embedded_live("pending"), 6);
    EXPECT_EQ(hostlaunch_embedded_step(4, patience_ms), 4);
    EXPECT_EQ(ran, 4);
    EXPECT_EQ(hostlaunch_embedded_step(2, patience_ms), 2);
    EXPECT_EQ(cuStreamSynchronize(s), success);
    EXPECT_EQ(cuGraphExecDestroy(exec), success);
    EXPECT_EQ(cuGraphDestroy(g), success);
}

}  // namespace
}  // namespace hostlaunch::embedded::test
