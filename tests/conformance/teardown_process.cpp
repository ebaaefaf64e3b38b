// SPDX-License-Identifier: Apache-2.0
// What is left of a context that is gone, in processes of their own: a driver may crash on a handle
// of the dead, as one does when it is asked for the context of such a stream.
#include "conformance/scenario.hpp"

namespace hostlaunch::conformance {
namespace {

void expect_gone(context gone, event left) {
    EXPECT_EQ(api().event_query(left), error_context_is_destroyed);
    EXPECT_EQ(api().event_destroy(left), error_context_is_destroyed);
    event made = nullptr;
    EXPECT_EQ(api().ctx_set_current(gone), success);
    EXPECT_EQ(api().event_create(&made, event_disable_timing), error_context_is_destroyed);
}

HOSTLAUNCH_SCENARIO(use_a_destroyed_context) {
    const context primary = use_primary_context();
    context created = nullptr;
    event left = nullptr;
    EXPECT_EQ(api().ctx_create(&created, 0, 0), success);
    const stream s = create_stream();
    EXPECT_EQ(api().event_create(&left, event_disable_timing), success);
    EXPECT_EQ(api().event_record(left, s), success);
    EXPECT_EQ(api().ctx_destroy(created), success);
    EXPECT_EQ(api().ctx_set_current(primary), success);
    expect_gone(created, left);
    return verdict();
}

HOSTLAUNCH_SCENARIO(use_a_reset_context) {
    const context primary = use_primary_context();
    event left = nullptr;
    const stream s = create_stream();
    EXPECT_EQ(api().event_create(&left, event_disable_timing), success);
    EXPECT_EQ(api().event_record(left, s), success);
    EXPECT_EQ(api().primary_ctx_reset(0), success);
    expect_gone(primary, left);
    return verdict();
}

// contract: L4
TEST(contexts_that_are_gone, say_so_to_events_once_destroyed) {
    expect_scenario("use_a_destroyed_context");
}

// contract: L4
TEST(contexts_that_are_gone, say_so_to_events_once_reset) {
    expect_scenario("use_a_reset_context");
}

}  // namespace
}  // namespace hostlaunch::conformance
