// SPDX-License-Identifier: Apache-2.0
// fork: a child of a process that had initialised the driver, and of one that had not.
#include "contract/scenario.hpp"
#include "support/child.hpp"

namespace hostlaunch::contract {
namespace {

HOSTLAUNCH_SCENARIO(fork_after_initialisation) {
    use_primary_context();
    const stream s = create_stream();
    static std::atomic<int> ran{0};
    static blocker& g = *new blocker;
    EXPECT_EQ(api().launch_host_func(s, blocker::run, &g), success);
    EXPECT_EQ(api().launch_host_func(s, count_up, &ran), success);
    EXPECT_TRUE(g.wait_until_running());
    test::in_forked_child([s] {
        EXPECT_EQ(api().launch_host_func(s, count_up, &ran), success);
        EXPECT_EQ(api().init(0), error_not_initialized);
        EXPECT_EQ(api().ctx_synchronize(), error_not_initialized);
        EXPECT_FALSE(eventually([] { return ran != 0; }, a_while));
    });
    g.let_go();
    EXPECT_EQ(api().stream_synchronize(s), success);
    EXPECT_EQ(ran, 1);
    return verdict();
}

HOSTLAUNCH_SCENARIO(fork_before_initialisation) {
    test::in_forked_child([] {
        use_primary_context();
        const stream s = create_stream();
        std::atomic<int> ran{0};
        EXPECT_EQ(api().launch_host_func(s, count_up, &ran), success);
        EXPECT_EQ(api().stream_synchronize(s), success);
        EXPECT_EQ(ran, 1);
    });
    return verdict();
}

// contract: X2
TEST(fork, after_initialisation_leaves_a_child_whose_launches_are_accepted_and_never_run) {
    expect_scenario("fork_after_initialisation");
}

// contract: X2
TEST(fork, before_initialisation_leaves_a_child_that_works) {
    expect_scenario("fork_before_initialisation");
}

}  // namespace
}  // namespace hostlaunch::contract
