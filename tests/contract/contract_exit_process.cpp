// SPDX-License-Identifier: Apache-2.0
// Process exit with functions pending: they never run, and the exit is clean.
#include <cstdlib>

#include "contract/scenario.hpp"

namespace hostlaunch::contract {
namespace {

constexpr int chosen_code = 7;
char ran_line[] = "a function ran";

void launch_many(stream s) {
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(api().launch_host_func(s, say_line, ran_line), success);
    }
}

HOSTLAUNCH_SCENARIO(exit_with_functions_held_by_a_value) {
    use_primary_context();
    const stream s = create_stream();
    hold_by_value(s);
    launch_many(s);
    std::exit(verdict(chosen_code));
}

HOSTLAUNCH_SCENARIO(exit_with_functions_behind_a_running_one) {
    use_primary_context();
    const stream s = create_stream();
    static blocker& g = *new blocker;
    EXPECT_EQ(api().launch_host_func(s, blocker::run, &g), success);
    launch_many(s);
    EXPECT_TRUE(g.wait_until_running());
    std::exit(verdict(chosen_code));
}

HOSTLAUNCH_SCENARIO(exit_with_nothing_pending) {
    use_primary_context();
    const stream s = create_stream();
    launch_many(s);
    EXPECT_EQ(api().stream_synchronize(s), success);
    std::exit(verdict(chosen_code));
}

HOSTLAUNCH_SCENARIO(exit_on_another_thread) {
    use_primary_context();
    const stream s = create_stream();
    hold_by_value(s);
    launch_many(s);
    std::thread([] { std::exit(verdict(chosen_code)); }).join();
    return 0;
}

// contract: X1
TEST(process_exit, with_functions_held_by_a_value_runs_none_and_is_clean) {
    const ending e = run_scenario("exit_with_functions_held_by_a_value");
    EXPECT_TRUE(e.in_time);
    EXPECT_EQ(e.exit_code, chosen_code) << e.output;
    EXPECT_FALSE(e.says(ran_line)) << e.output;
}

// contract: X1
TEST(process_exit, with_functions_behind_a_running_one_runs_none_and_is_clean) {
    const ending e = run_scenario("exit_with_functions_behind_a_running_one");
    EXPECT_TRUE(e.in_time);
    EXPECT_EQ(e.exit_code, chosen_code) << e.output;
    EXPECT_FALSE(e.says(ran_line)) << e.output;
}

TEST(process_exit, after_a_sync_has_run_them_all) {
    const ending e = run_scenario("exit_with_nothing_pending");
    EXPECT_TRUE(e.in_time);
    EXPECT_EQ(e.exit_code, chosen_code) << e.output;
    EXPECT_EQ(e.output.size(), 100 * sizeof ran_line) << e.output;
}

TEST(process_exit, may_come_from_any_thread) {
    const ending e = run_scenario("exit_on_another_thread");
    EXPECT_TRUE(e.in_time);
    EXPECT_EQ(e.exit_code, chosen_code) << e.output;
    EXPECT_FALSE(e.says(ran_line)) << e.output;
}

}  // namespace
}  // namespace hostlaunch::contract
