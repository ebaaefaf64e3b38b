// SPDX-License-Identifier: Apache-2.0
// What is left of a context that is gone, each call in a process of its own: a driver may crash on
// a handle of the dead.
#include "contract/scenario.hpp"

namespace hostlaunch::contract {
namespace {

// A context that was destroyed, and an event of it that was recorded.
struct remains {
    context gone = nullptr;
    event left = nullptr;
};

remains make_remains() {
    remains r;
    const context primary = use_primary_context();
    EXPECT_EQ(api().ctx_create(&r.gone, 0, 0), success);
    EXPECT_EQ(api().event_create(&r.left, event_disable_timing), success);
    EXPECT_EQ(api().event_record(r.left, create_stream()), success);
    EXPECT_EQ(api().ctx_destroy(r.gone), success);
    EXPECT_EQ(api().ctx_set_current(primary), success);
    return r;
}

HOSTLAUNCH_SCENARIO(query_an_event_of_a_destroyed_context) {
    EXPECT_EQ(api().event_query(make_remains().left), error_context_is_destroyed);
    return verdict();
}

HOSTLAUNCH_SCENARIO(make_a_destroyed_context_current) {
    EXPECT_EQ(api().ctx_set_current(make_remains().gone), success);
    return verdict();
}

HOSTLAUNCH_SCENARIO(destroy_an_event_of_a_destroyed_context) {
    show_result("destroy an event of a destroyed context",
                api().event_destroy(make_remains().left));
    return verdict();
}

HOSTLAUNCH_SCENARIO(destroy_an_event_of_a_destroyed_context_behind_a_query) {
    const remains r = make_remains();
    api().event_query(r.left);
    show_result("destroy it behind a query", api().event_destroy(r.left));
    return verdict();
}

HOSTLAUNCH_SCENARIO(create_an_event_in_a_destroyed_context) {
    event made = nullptr;
    EXPECT_EQ(api().ctx_set_current(make_remains().gone), success);
    show_result("create an event in a destroyed context",
                api().event_create(&made, event_disable_timing));
    return verdict();
}

HOSTLAUNCH_SCENARIO(use_a_reset_context) {
    const context primary = use_primary_context();
    event left = nullptr;
    event made = nullptr;
    EXPECT_EQ(api().event_create(&left, event_disable_timing), success);
    EXPECT_EQ(api().event_record(left, create_stream()), success);
    EXPECT_EQ(api().primary_ctx_reset(0), success);
    EXPECT_EQ(api().event_query(left), error_context_is_destroyed);
    EXPECT_EQ(api().event_destroy(left), error_context_is_destroyed);
    EXPECT_EQ(api().ctx_set_current(primary), success);
    EXPECT_EQ(api().event_create(&made, event_disable_timing), error_context_is_destroyed);
    return verdict();
}

// contract: L4
TEST(contexts_that_are_gone, say_so_to_a_query_of_an_event_once_destroyed) {
    expect_scenario("query_an_event_of_a_destroyed_context");
}

TEST(contexts_that_are_gone, can_be_made_current) {
    expect_scenario("make_a_destroyed_context_current");
}

// contract: L4
TEST(contexts_that_are_gone, say_so_to_events_once_reset) {
    expect_scenario("use_a_reset_context");
}

class use_of_what_is_gone : public testing::TestWithParam<const char*> {};

// Undefined on a real driver, and one died of one of these: whatever happens is told.
TEST_P(use_of_what_is_gone, is_observed) {
    observe_scenario(GetParam());
}

INSTANTIATE_TEST_SUITE_P(all, use_of_what_is_gone,
                         testing::Values("destroy_an_event_of_a_destroyed_context",
                                         "destroy_an_event_of_a_destroyed_context_behind_a_query",
                                         "create_an_event_in_a_destroyed_context"),
                         [](const auto& named) { return std::string(named.param); });

}  // namespace
}  // namespace hostlaunch::contract
