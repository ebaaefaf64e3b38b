// SPDX-License-Identifier: Apache-2.0
// Events: completion, waits across streams, contexts and devices.
#include "embedded/fixture.hpp"

namespace hostlaunch::embedded::test {
namespace {

using events = embedded_driver;

TEST_F(events, an_event_that_was_never_recorded_is_complete) {
    const event e = make_event();
    EXPECT_EQ(cuEventQuery(e), success);
    EXPECT_EQ(cuEventSynchronize(e), success);
    EXPECT_EQ(cuStreamWaitEvent(make_stream(), e, 0), success);
}

TEST_F(events, an_event_completes_with_the_work_before_it) {
    const stream s = make_stream();
    const event e = make_event();
    blocker b;
    ASSERT_EQ(cuLaunchHostFunc(s, blocker::run, &b), success);
    ASSERT_EQ(cuEventRecord(e, s), success);
    b.wait_until_running();
    EXPECT_EQ(cuEventQuery(e), error_not_ready);
    background waits([&] { EXPECT_EQ(cuEventSynchronize(e), success); });
    waits.wait_until_started();
    give_it_time();
    EXPECT_FALSE(waits.finished());
    b.let_go();
    waits.join();
    EXPECT_EQ(cuEventQuery(e), success);
}

TEST_F(events, a_stream_waits_for_the_record_made_before_the_wait_and_not_for_later_ones) {
    const stream first = make_stream();
    const stream second = make_stream();
    const stream third = make_stream();
    const event e = make_event();
    const event reached = make_event();
    hostlaunch_embedded_set_threads(hostlaunch_embedded_threads_per_stream);
    blocker early;
    blocker late;
    ASSERT_EQ(cuLaunchHostFunc(first, blocker::run, &early), success);
    ASSERT_EQ(cuEventRecord(e, first), success);
    ASSERT_EQ(cuStreamWaitEvent(third, e, 0), success);
    ASSERT_EQ(cuEventRecord(reached, third), success);
    ASSERT_EQ(cuLaunchHostFunc(second, blocker::run, &late), success);
    ASSERT_EQ(cuEventRecord(e, second), success);
    early.wait_until_running();
    late.wait_until_running();
    EXPECT_EQ(cuEventQuery(reached), error_not_ready);
    early.let_go();
    EXPECT_EQ(cuEventSynchronize(reached), success);
    EXPECT_EQ(cuEventQuery(e), error_not_ready);
    late.let_go();
    EXPECT_EQ(cuEventSynchronize(e), success);
}

TEST_F(events, an_event_destroyed_while_pending_still_lets_waiters_go) {
    const stream s = make_stream();
    const stream waiting = make_stream();
    event e = nullptr;
    ASSERT_EQ(cuEventCreate(&e, event_disable_timing), success);
    std::atomic<int> ran{0};
    blocker b;
    ASSERT_EQ(cuLaunchHostFunc(s, blocker::run, &b), success);
    ASSERT_EQ(cuEventRecord(e, s), success);
    ASSERT_EQ(cuStreamWaitEvent(waiting, e, 0), success);
    ASSERT_EQ(cuLaunchHostFunc(waiting, count_up, &ran), success);
    EXPECT_EQ(cuEventDestroy_v2(e), success);
    EXPECT_EQ(cuEventQuery(e), error_invalid_handle);
    b.let_go();
    EXPECT_EQ(cuStreamSynchronize(waiting), success);
    EXPECT_EQ(ran, 1);
}

TEST_F(events, a_wait_crosses_contexts_and_a_record_does_not) {
    context other = nullptr;
    ASSERT_EQ(cuCtxCreate_v2(&other, 0, 0), success);
    stream there = nullptr;
    ASSERT_EQ(cuStreamCreate(&there, stream_non_blocking), success);
    event reached = nullptr;
    ASSERT_EQ(cuEventCreate(&reached, 0), success);
    ASSERT_EQ(cuCtxPopCurrent_v2(nullptr), success);
    const stream here = make_stream();
    const event e = make_event();
    EXPECT_EQ(cuEventRecord(e, there), error_invalid_handle);
    blocker b;
    ASSERT_EQ(cuLaunchHostFunc(here, blocker::run, &b), success);
    ASSERT_EQ(cuEventRecord(e, here), success);
    ASSERT_EQ(cuStreamWaitEvent(there, e, 0), success);
    ASSERT_EQ(cuEventRecord(reached, there), success);
    b.wait_until_running();
    EXPECT_EQ(cuEventQuery(reached), error_not_ready);
    b.let_go();
    EXPECT_EQ(cuEventSynchronize(reached), success);
    EXPECT_EQ(cuCtxDestroy_v2(other), success);
    EXPECT_EQ(cuEventQuery(reached), error_context_is_destroyed);
    EXPECT_EQ(cuStreamQuery(there), error_context_is_destroyed);
}

TEST_F(events, elapsed_time_needs_two_complete_events_with_timing) {
    const stream s = make_stream();
    const event start = make_event(event_default);
    const event end = make_event(event_default);
    const event untimed = make_event(event_disable_timing);
    float ms = -1;
    EXPECT_EQ(cuEventElapsedTime(&ms, start, end), error_invalid_handle);
    blocker b;
    ASSERT_EQ(cuEventRecord(start, s), success);
    ASSERT_EQ(cuEventRecord(untimed, s), success);
    ASSERT_EQ(cuLaunchHostFunc(s, blocker::run, &b), success);
    ASSERT_EQ(cuEventRecord(end, s), success);
    EXPECT_EQ(cuEventElapsedTime(&ms, start, end), error_not_ready);
    EXPECT_EQ(cuEventElapsedTime(&ms, start, untimed), error_invalid_handle);
    b.let_go();
    ASSERT_EQ(cuEventSynchronize(end), success);
    EXPECT_EQ(cuEventElapsedTime_v2(&ms, start, end), success);
    EXPECT_GE(ms, 0.0F);
}

}  // namespace
}  // namespace hostlaunch::embedded::test
