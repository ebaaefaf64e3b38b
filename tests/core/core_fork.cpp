// SPDX-License-Identifier: Apache-2.0
// fork: each case is a process of its own.
#include <gtest/gtest.h>

#include "support/child.hpp"

namespace hostlaunch::test {
namespace {

void run_case(const char* name) {
    const ended_program p = run_program({FORK_PROGRAM, name});
    EXPECT_EQ(p.code, 0) << describe(p);
}

// contract: X2
TEST(after_fork, the_child_enters_no_driver_and_the_parent_goes_on) {
    run_case("child_leaves");
}

// contract: X2
TEST(after_fork, the_child_exits_cleanly_with_its_own_exit_code) {
    run_case("child_exits");
}

// contract: X2
TEST(after_fork, a_child_made_inside_a_host_function_is_told_the_same) {
    run_case("fork_inside_a_function");
}

// contract: X2
TEST(after_fork, the_child_works_if_the_driver_had_not_been_initialised) {
    run_case("child_before_the_driver");
}

}  // namespace
}  // namespace hostlaunch::test
