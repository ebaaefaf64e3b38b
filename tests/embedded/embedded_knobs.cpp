// SPDX-License-Identifier: Apache-2.0
// The knobs of control.hpp: failures, holds, steps, launch modes, the log, the entry check.
#include "embedded/fixture.hpp"

namespace hostlaunch::embedded::test {
namespace {

using knobs = embedded_driver;

// contract: D4
TEST_F(knobs, the_nth_call_fails_and_does_nothing) {
    const stream s = make_stream();
    std::atomic<int> ran{0};
    ASSERT_EQ(hostlaunch_embedded_fail_call("cuLaunchHostFunc", 2, error_out_of_memory), 0);
    ASSERT_EQ(hostlaunch_embedded_fail_call("cuLaunchHostFunc", 3, error_launch_failed), 0);
    EXPECT_EQ(cuLaunchHostFunc(s, count_up, &ran), success);
    EXPECT_EQ(cuLaunchHostFunc(s, count_up, &ran), error_out_of_memory);
    EXPECT_EQ(cuLaunchHostFunc(s, count_up, &ran), error_launch_failed);
    EXPECT_EQ(cuLaunchHostFunc(s, count_up, &ran), success);
    ASSERT_EQ(cuStreamSynchronize(s), success);
    EXPECT_EQ(ran, 2);
    EXPECT_EQ(hostlaunch_embedded_fail_call("cuNoSuchThing", 1, 1), 1);
    EXPECT_EQ(hostlaunch_embedded_fail_call("cuInit", 0, 1), 1);
}

// contract: D4
TEST_F(knobs, a_failure_may_be_meant_for_the_calling_thread_alone) {
    ASSERT_EQ(hostlaunch_embedded_fail_own_call("cuCtxSynchronize", 2, error_unknown), 0);
    EXPECT_EQ(cuCtxSynchronize(), success);
    std::thread([&] {
        ASSERT_EQ(cuCtxSetCurrent(ctx_), success);
        for (int i = 0; i < 3; ++i)
            EXPECT_EQ(cuCtxSynchronize(), success);
    }).join();
    EXPECT_EQ(cuCtxSynchronize(), error_unknown);
    EXPECT_EQ(cuCtxSynchronize(), success);
    EXPECT_EQ(hostlaunch_embedded_fail_own_call("cuNoSuchThing", 1, 1), 1);
}

TEST_F(knobs, base_names_stand_for_every_interface_of_an_entry) {
    const std::uint64_t before = hostlaunch_embedded_calls("cuStreamDestroy");
    ASSERT_EQ(hostlaunch_embedded_fail_call("cuStreamDestroy", 1, error_unknown), 0);
    const stream s = make_stream();
    EXPECT_EQ(cuStreamDestroy_v2(s), error_unknown);
    EXPECT_EQ(cuStreamQuery(s), success);
    EXPECT_EQ(hostlaunch_embedded_calls("cuStreamDestroy"), before + 1);
}

TEST_F(knobs, a_reset_forgets_armed_failures) {
    ASSERT_EQ(hostlaunch_embedded_fail_call("cuCtxSynchronize", 1, error_unknown), 0);
    hostlaunch_embedded_reset();
    EXPECT_EQ(cuCtxSynchronize(), success);
}

// contract: D4
TEST_F(knobs, functions_run_one_step_at_a_time) {
    const stream s = make_stream();
    std::atomic<int> ran{0};
    hostlaunch_embedded_set_manual(1);
    for (int i = 0; i < 5; ++i) {
        ASSERT_EQ(cuLaunchHostFunc(s, count_up, &ran), success);
    }
    EXPECT_EQ(hostlaunch_embedded_wait_idle(20), 1);
    EXPECT_EQ(ran, 0);
    EXPECT_EQ(hostlaunch_embedded_step(2, patience_ms), 2);
    EXPECT_EQ(ran, 2);
    EXPECT_EQ(hostlaunch_embedded_live("pending"), 3);
    EXPECT_EQ(hostlaunch_embedded_step(10, 20), 3);
    EXPECT_EQ(ran, 5);
    ASSERT_EQ(cuLaunchHostFunc(s, count_up, &ran), success);
    EXPECT_EQ(cuStreamQuery(s), error_not_ready);
    hostlaunch_embedded_set_manual(0);
    EXPECT_EQ(cuStreamSynchronize(s), success);
    EXPECT_EQ(ran, 6);
}

TEST_F(knobs, only_host_functions_need_a_step) {
    const stream s = make_stream();
    hostlaunch_embedded_set_manual(1);
    const event e = make_event();
    ASSERT_EQ(cuEventRecord(e, s), success);
    EXPECT_EQ(cuEventQuery(e), success);
}

// contract: D4
TEST_F(knobs, a_held_entry_blocks_its_callers_until_it_is_released) {
    const stream s = make_stream();
    std::atomic<int> ran{0};
    ASSERT_EQ(hostlaunch_embedded_hold("cuLaunchHostFunc"), 0);
    background launches([&] { EXPECT_EQ(cuLaunchHostFunc(s, count_up, &ran), success); });
    EXPECT_EQ(hostlaunch_embedded_wait_held("cuLaunchHostFunc", 1, patience_ms), 1);
    EXPECT_FALSE(launches.finished());
    EXPECT_EQ(hostlaunch_embedded_live("pending"), 0);
    EXPECT_EQ(cuStreamQuery(s), success);
    hostlaunch_embedded_release("cuLaunchHostFunc");
    launches.join();
    EXPECT_EQ(cuStreamSynchronize(s), success);
    EXPECT_EQ(hostlaunch_embedded_wait_held("cuLaunchHostFunc", 1, 0), 0);
    EXPECT_EQ(hostlaunch_embedded_hold("cuNoSuchThing"), 1);
}

// contract: D4
TEST_F(knobs, a_launch_can_wait_for_the_running_function) {
    const stream s = make_stream();
    const stream other = make_stream();
    std::atomic<int> ran{0};
    hostlaunch_embedded_set_launch(hostlaunch_embedded_launch_waits_running, 0);
    blocker b;
    ASSERT_EQ(cuLaunchHostFunc(s, blocker::run, &b), success);
    b.wait_until_running();
    background launches([&] { EXPECT_EQ(cuLaunchHostFunc(other, count_up, &ran), success); });
    background launches_here([&] { EXPECT_EQ(cuLaunchHostFunc(s, count_up, &ran), success); });
    launches_here.wait_until_started();
    give_it_time();
    EXPECT_FALSE(launches_here.finished());
    b.let_go();
    launches.join();
    launches_here.join();
    EXPECT_EQ(cuCtxSynchronize(), success);
}

// contract: D4
TEST_F(knobs, a_launch_can_return_only_after_its_function_has_run) {
    const stream s = make_stream();
    std::atomic<int> ran{0};
    hostlaunch_embedded_set_launch(hostlaunch_embedded_launch_waits_done, 0);
    for (int i = 1; i <= 10; ++i) {
        ASSERT_EQ(cuLaunchHostFunc(s, count_up, &ran), success);
        EXPECT_EQ(ran, i);
    }
}

// contract: D4
TEST_F(knobs, a_launch_can_wait_for_room_in_a_bounded_queue) {
    const stream s = make_stream();
    std::atomic<int> ran{0};
    hostlaunch_embedded_set_launch(hostlaunch_embedded_launch_bounded, 3);
    hostlaunch_embedded_set_manual(1);
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(cuLaunchHostFunc(s, count_up, &ran), success);
    }
    background fourth([&] { EXPECT_EQ(cuLaunchHostFunc(s, count_up, &ran), success); });
    fourth.wait_until_started();
    give_it_time();
    EXPECT_FALSE(fourth.finished());
    EXPECT_EQ(hostlaunch_embedded_step(1, patience_ms), 1);
    fourth.join();
    EXPECT_EQ(hostlaunch_embedded_live("pending"), 3);
    EXPECT_EQ(hostlaunch_embedded_step(3, patience_ms), 3);
}

TEST_F(knobs, turning_the_launch_knob_back_frees_who_waits) {
    const stream s = make_stream();
    std::atomic<int> ran{0};
    hostlaunch_embedded_set_launch(hostlaunch_embedded_launch_waits_done, 0);
    hostlaunch_embedded_set_manual(1);
    background launches([&] { EXPECT_EQ(cuLaunchHostFunc(s, count_up, &ran), success); });
    while (hostlaunch_embedded_live("pending") == 0) {
        std::this_thread::yield();
    }
    hostlaunch_embedded_set_launch(hostlaunch_embedded_launch_queues, 0);
    launches.join();
    EXPECT_EQ(ran, 0);
    EXPECT_EQ(hostlaunch_embedded_step(1, patience_ms), 1);
}

struct queries {
    static void run(void* s) { cuStreamQuery(static_cast<stream>(s)); }
};

TEST_F(knobs, the_log_tells_entry_arguments_thread_and_result) {
    const stream s = make_stream();
    hostlaunch_embedded_set_log(1);
    std::atomic<int> ran{0};
    ASSERT_EQ(cuLaunchHostFunc(s, count_up, &ran), success);
    EXPECT_EQ(cuStreamSynchronize(reinterpret_cast<stream>(3)), error_invalid_handle);
    ASSERT_EQ(cuStreamSynchronize(s), success);
    ASSERT_EQ(cuLaunchHostFunc(s, queries::run, s), success);
    ASSERT_EQ(hostlaunch_embedded_wait_idle(patience_ms), 0);
    hostlaunch_embedded_set_log(0);
    ASSERT_EQ(hostlaunch_embedded_log_size(), 5);
    hostlaunch_embedded_call c{};
    ASSERT_EQ(hostlaunch_embedded_log_get(0, &c), 0);
    EXPECT_STREQ(c.entry, "cuLaunchHostFunc");
    EXPECT_EQ(c.args[0], reinterpret_cast<std::uintptr_t>(s));
    EXPECT_EQ(c.args[2], reinterpret_cast<std::uintptr_t>(&ran));
    EXPECT_EQ(c.result, success);
    EXPECT_EQ(c.in_host_function, 0);
    const std::uint64_t here = c.thread;
    ASSERT_EQ(hostlaunch_embedded_log_get(1, &c), 0);
    EXPECT_EQ(c.result, error_invalid_handle);
    EXPECT_EQ(c.thread, here);
    ASSERT_EQ(hostlaunch_embedded_log_get(4, &c), 0);
    EXPECT_STREQ(c.entry, "cuStreamQuery");
    EXPECT_EQ(c.in_host_function, 1);
    EXPECT_NE(c.thread, here);
    EXPECT_EQ(hostlaunch_embedded_log_get(5, &c), 1);
}

TEST_F(knobs, the_log_is_bounded_and_goes_on_counting) {
    hostlaunch_embedded_set_log(1);
    constexpr int kept = 65'536;
    const char* name = nullptr;
    for (int i = 0; i < kept + 10; ++i) {
        cuGetErrorName(0, &name);
    }
    EXPECT_EQ(hostlaunch_embedded_log_size(), kept + 10);
    hostlaunch_embedded_call c{};
    EXPECT_EQ(hostlaunch_embedded_log_get(kept - 1, &c), 0);
    EXPECT_EQ(hostlaunch_embedded_log_get(kept, &c), 1);
}

thread_local bool holds_a_lock = false;

// contract: G1
TEST_F(knobs, the_entry_check_counts_callers_that_hold_a_lock) {
    const stream s = make_stream();
    hostlaunch_embedded_set_entry_check([] { return holds_a_lock ? 1 : 0; });
    EXPECT_EQ(cuStreamQuery(s), success);
    EXPECT_EQ(hostlaunch_embedded_violations(), 0);
    EXPECT_EQ(hostlaunch_embedded_first_violation(), nullptr);
    holds_a_lock = true;
    EXPECT_EQ(cuStreamQuery(s), success);
    EXPECT_EQ(cuCtxSynchronize(), success);
    holds_a_lock = false;
    EXPECT_EQ(hostlaunch_embedded_violations(), 2);
    EXPECT_STREQ(hostlaunch_embedded_first_violation(), "cuStreamQuery");
}

TEST_F(knobs, unknown_objects_are_not_counted) {
    EXPECT_EQ(hostlaunch_embedded_live("unicorns"), -1);
    EXPECT_EQ(hostlaunch_embedded_live(nullptr), -1);
}

}  // namespace
}  // namespace hostlaunch::embedded::test
