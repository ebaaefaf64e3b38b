// SPDX-License-Identifier: Apache-2.0
// How processes end: exit codes are kept, nothing crashes, every wait is bounded.
#include <gtest/gtest.h>

#include "support/child.hpp"

namespace hostlaunch::test {
namespace {

ended_program run_case(const std::string& name, const std::vector<std::string>& settings = {}) {
    return run_program({PROCESS_PROGRAM, name}, settings);
}

void expect_code(const ended_program& p, int code) {
    EXPECT_FALSE(p.timed_out) << describe(p);
    EXPECT_EQ(p.code, code) << describe(p);
    EXPECT_EQ(p.err, "") << describe(p);
}

// contract: X1
TEST(process_exit, drops_pending_functions_and_keeps_the_exit_code) {
    const ended_program p = run_case("return_with_functions_pending");
    expect_code(p, 3);
    EXPECT_EQ(p.out, "");
    EXPECT_LT(p.seconds, 10);
}

// contract: X1, C2
TEST(process_exit, neither_runs_nor_destroys_callables_that_are_pending) {
    const ended_program p = run_case("return_with_callables_pending");
    expect_code(p, 3);
    EXPECT_EQ(p.out, "");
}

// contract: X1
TEST(process_exit, waits_for_a_function_that_is_running_and_starts_no_other) {
    const ended_program p = run_case("return_with_a_function_running");
    expect_code(p, 3);
    EXPECT_EQ(p.out, "began ended ");
}

// contract: X1
TEST(process_exit, waits_no_longer_than_the_setting_says) {
    const ended_program p =
        run_case("return_with_an_endless_function", {"HOSTLAUNCH_EXIT_TIMEOUT=0.3"});
    expect_code(p, 3);
    EXPECT_EQ(p.out, "");
    EXPECT_GE(p.seconds, 0.3);
    EXPECT_LT(p.seconds, 4.5);
}

// contract: X1
TEST(process_exit, waits_five_seconds_if_nothing_else_is_set) {
    const ended_program p =
        run_case("return_with_an_endless_function", {"HOSTLAUNCH_EXIT_TIMEOUT"});
    expect_code(p, 3);
    EXPECT_GE(p.seconds, 5);
    EXPECT_LT(p.seconds, 30);
}

struct ending {
    const char* name;
    int code;
};
void PrintTo(const ending& e, std::ostream* out) {
    *out << e.name;
}

class process_end : public testing::TestWithParam<ending> {};

// contract: X1
TEST_P(process_end, is_clean) {
    const ended_program p = run_case(GetParam().name);
    expect_code(p, GetParam().code);
    EXPECT_EQ(p.out.find("another error"), std::string::npos) << describe(p);
    EXPECT_EQ(p.out.find("leaked"), std::string::npos) << describe(p);
}

INSTANTIATE_TEST_SUITE_P(
    after, process_end,
    testing::Values(
        ending{"return_with_a_launch_blocked", 3}, ending{"return_through_destructors", 3},
        ending{"exit_inside_a_callable", 5}, ending{"exit_inside_a_borrowed_callable", 5},
        ending{"exit_inside_an_as_is_function", 5},
        ending{"exit_inside_a_callable_with_others_pending", 5},
        ending{"exit_inside_the_destructor_of_a_callable", 5},
        ending{"exit_while_threads_launch", 3}, ending{"exit_while_functions_throw", 3},
        ending{"quick_exit", 4}, ending{"underscore_exit", 4},
        ending{"exit_from_another_thread", 6}, ending{"thread_local_stream", 3},
        ending{"thread_local_stream_of_main", 3}, ending{"objects_made_before_main", 3},
        ending{"objects_made_in_main", 3}, ending{"first_use_during_exit", 3},
        ending{"a_pending_callable_that_owns_its_stream", 3},
        ending{"graph_objects_made_before_main", 3}, ending{"graph_objects_made_in_main", 3},
        ending{"exit_inside_a_graph_function", 5}, ending{"exit_while_threads_build_and_launch", 3},
        ending{"graphs_after_a_sticky_error", 3}, ending{"quick_exit_with_everything_pending", 4},
        ending{"quick_exit_inside_a_callable", 5}, ending{"quick_exit_whose_handler_launches", 4}),
    [](const testing::TestParamInfo<ending>& e) { return std::string(e.param.name); });

// contract: X1
TEST(process_exit, refuses_launches_of_static_destructors_that_run_after_it_began) {
    const ended_program p = run_case("launch_after_the_handler");
    expect_code(p, 3);
    EXPECT_EQ(p.out, "refused ");
}

// contract: X1
TEST(process_exit, runs_launches_of_static_destructors_that_run_before_it) {
    const ended_program p = run_case("launch_before_the_handler");
    expect_code(p, 3);
    EXPECT_EQ(p.out, "ran launched ");
}

// contract: X1, P9
TEST(process_exit, waits_for_a_submitted_function_that_runs_and_leaves_the_others) {
    const ended_program running = run_case("return_with_a_submitted_function_running");
    expect_code(running, 3);
    EXPECT_EQ(running.out, "ran ");
    const ended_program pending = run_case("return_with_submitted_functions_pending");
    expect_code(pending, 3);
    EXPECT_EQ(pending.out, "");
    expect_code(run_case("exit_inside_a_submitted_function"), 5);
}

// contract: X1
TEST(process_exit, counts_what_never_ran_as_dropped) {
    const ended_program p = run_case("counts_after_exit_began");
    expect_code(p, 3);
    EXPECT_EQ(p.out, "refused ");
}

// contract: X1, C2
TEST(process_exit, neither_runs_nor_destroys_functions_of_graphs_that_are_pending_or_being_built) {
    for (const char* name : {"graph_launches_pending", "builder_still_building"}) {
        const ended_program p = run_case(name);
        expect_code(p, 3);
        EXPECT_EQ(p.out, "");
        EXPECT_LT(p.seconds, 10);
    }
}

// contract: X1
TEST(process_exit, waits_for_a_graphs_function_that_is_running_and_starts_no_other) {
    const ended_program p = run_case("graph_function_running");
    expect_code(p, 3);
    EXPECT_EQ(p.out, "began ended ");
}

// contract: O1, C2
TEST(closed_plugin, may_be_gone_once_functions_that_need_no_destruction_have_run) {
    expect_code(run_case("close_a_plugin_after_a_wait"), 3);
}

// contract: O1, C2
TEST(closed_plugin, that_stays_in_memory_has_its_functions_run_and_destroyed) {
    expect_code(run_case("close_a_plugin_that_stays_with_functions_pending"), 3);
}

// Within a second on a machine that has time for it: the best of a few tries.
// contract: L4, X3
TEST(context_failure, abandons_pending_launches_within_a_second_without_any_call) {
    double best = 60;
    for (int i = 0; i < 5 && best > 1; ++i) {
        const ended_program p = run_case("sticky_error_abandons");
        ASSERT_EQ(p.code, 0) << describe(p);
        best = std::min(best, std::stod(p.out));
    }
    EXPECT_LE(best, 1);
}

// contract: X3
TEST(context_failure, is_reported_by_later_calls_which_leak_nothing) {
    expect_code(run_case("sticky_error_is_reported"), 0);
}

// contract: X3, L4
TEST(context_failure, of_one_device_ends_the_launches_of_both) {
    expect_code(run_case("sticky_error_ends_both_devices"), 0);
}

// contract: X2
TEST(after_fork, the_child_can_call_nothing_and_exits_cleanly) {
    expect_code(run_case("fork_with_launches_pending"), 0);
}

// contract: X2
TEST(after_fork, builders_and_graphs_of_the_parent_refuse_the_child_and_go_on_in_the_parent) {
    expect_code(run_case("fork_with_graphs"), 0);
}

}  // namespace
}  // namespace hostlaunch::test
