// SPDX-License-Identifier: Apache-2.0
// User objects: who keeps them and when they end. On which thread they do is in destructors.cpp.
#include "contract/graph_scene.hpp"

namespace hostlaunch::contract {
namespace {

using user_objects = graph_test;

TEST_F(user_objects, the_destructor_runs_once_when_the_last_reference_goes) {
    ending_mark& mark = make_mark();
    const user_object object = make_object(mark, 2);
    EXPECT_EQ(api().user_object_retain(object, 1), success);
    EXPECT_EQ(api().user_object_release(object, 2), success);
    EXPECT_TRUE(mark.stays_away());
    EXPECT_EQ(api().user_object_release(object, 1), success);
    EXPECT_TRUE(mark.comes());
    EXPECT_EQ(mark.ended, 1);
}

TEST_F(user_objects, one_may_begin_with_more_references_than_an_int_can_count) {
    ending_mark& mark = make_mark();
    make_object(mark, 1u << 31);  // never released: no call counts as many
    EXPECT_TRUE(mark.stays_away());
}

// contract: B2
TEST_F(user_objects, a_graph_keeps_its_objects) {
    const graph g = create();
    ending_mark& moved = make_mark();
    ending_mark& retained = make_mark();
    const user_object first = make_object(moved);
    const user_object second = make_object(retained);
    ASSERT_EQ(api().graph_retain_user_object(g, first, 1, graph_user_object_move), success);
    ASSERT_EQ(api().graph_retain_user_object(g, second, 2, 0), success);
    ASSERT_EQ(api().user_object_release(second, 1), success);
    EXPECT_TRUE(moved.stays_away());
    EXPECT_EQ(retained.ended, 0);
    ASSERT_EQ(api().graph_release_user_object(g, second, 2), success);
    EXPECT_TRUE(retained.comes());
    EXPECT_EQ(moved.ended, 0);
    destroy(g);
    EXPECT_TRUE(moved.comes());
}

// contract: B2
TEST_F(user_objects, clones_and_executables_keep_references_of_their_own) {
    const stream s = make_stream();
    std::atomic<int>& ran = make_counter();
    const graph g = capture_counts(s, ran);
    ending_mark& mark = give_object(g);
    const graph copy = clone(g);
    const graph_exec exec = instantiate(copy);
    destroy(g);
    EXPECT_TRUE(mark.stays_away());
    destroy(copy);
    EXPECT_TRUE(mark.stays_away());
    run(exec, s);
    EXPECT_EQ(mark.ended, 0);
    destroy(exec);
    EXPECT_TRUE(mark.comes());
    EXPECT_EQ(mark.ended, 1);
}

// contract: B2
TEST_F(user_objects, a_launch_in_flight_keeps_them_after_all_else_is_gone) {
    const stream s = make_stream();
    blocker& held = make_blocker();
    const graph g = capture_function(s, blocker::run, &held);
    ending_mark& mark = give_object(g);
    const graph_exec exec = instantiate(g);
    ASSERT_EQ(api().graph_launch(exec, s), success);
    ASSERT_TRUE(held.wait_until_running());
    call& destroys = elsewhere([this, g, exec] {
        destroy(g);
        destroy(exec);
        return success;
    });
    destroys.returns();
    EXPECT_TRUE(mark.stays_away());
    held.let_go();
    EXPECT_EQ(destroys.answer(), success);
    EXPECT_EQ(api().stream_synchronize(s), success);
    EXPECT_TRUE(mark.comes());
    EXPECT_EQ(mark.ended, 1);
}

// Does it need another call of the driver, or does the end of the launch suffice?
TEST_F(user_objects, the_end_of_the_launch_alone_ends_them) {
    const stream s = make_stream();
    blocker& held = make_blocker();
    const graph g = capture_function(s, blocker::run, &held);
    ending_mark& mark = give_object(g);
    const graph_exec exec = instantiate(g);
    ASSERT_EQ(api().graph_launch(exec, s), success);
    ASSERT_TRUE(held.wait_until_running());
    call& destroys = elsewhere([this, g, exec] {
        destroy(g);
        destroy(exec);
        return success;
    });
    destroys.returns();
    held.let_go();
    EXPECT_EQ(destroys.answer(), success);
    const bool alone = eventually([&] { return mark.ended > 0; }, promptly);
    observe("the destructor runs without a call that waits for the launch", alone);
    EXPECT_EQ(api().stream_synchronize(s), success);
    EXPECT_TRUE(mark.comes());
}

// contract: B2
TEST_F(user_objects, those_of_a_child_graph_live_with_the_parent) {
    const stream s = make_stream();
    std::atomic<int>& ran = make_counter();
    const graph child = capture_counts(s, ran);
    ending_mark& mark = give_object(child);
    const graph parent = create();
    graph_node node = nullptr;
    ASSERT_EQ(api().graph_add_child_graph_node(&node, parent, nullptr, 0, child), success);
    destroy(child);
    EXPECT_TRUE(mark.stays_away());
    const graph_exec exec = instantiate(parent);
    EXPECT_EQ(api().graph_destroy_node(node), success);
    EXPECT_TRUE(mark.stays_away());
    run(exec, s);
    EXPECT_EQ(ran, 1);
    destroy(exec);
    EXPECT_TRUE(mark.comes());
}

TEST_F(user_objects, a_reference_can_be_given_to_a_graph_that_is_being_captured) {
    const stream s = make_stream();
    std::atomic<int>& ran = make_counter();
    capture_status status{};
    graph g = nullptr;
    ending_mark& mark = make_mark();
    const graph built = capture(s, [&] {
        ASSERT_EQ(api().stream_get_capture_info(s, &status, nullptr, &g, nullptr, nullptr, nullptr),
                  success);
        ASSERT_EQ(api().graph_retain_user_object(g, make_object(mark), 1, graph_user_object_move),
                  success);
        ASSERT_EQ(launch(s, ran), success);
    });
    EXPECT_EQ(built, g);
    const graph_exec exec = instantiate(built);
    destroy(built);
    run(exec, s);
    EXPECT_EQ(mark.ended, 0);
    destroy(exec);
    EXPECT_TRUE(mark.comes());
}

TEST_F(user_objects, an_abandoned_capture_ends_those_of_its_graph) {
    const stream s = make_stream();
    capture_status status{};
    graph g = nullptr;
    ending_mark& mark = make_mark();
    ASSERT_EQ(api().stream_begin_capture(s, capture_mode::relaxed), success);
    ASSERT_EQ(api().stream_get_capture_info(s, &status, nullptr, &g, nullptr, nullptr, nullptr),
              success);
    ASSERT_EQ(api().graph_retain_user_object(g, make_object(mark), 1, graph_user_object_move),
              success);
    EXPECT_EQ(api().stream_synchronize(s), error_stream_capture_unsupported);
    EXPECT_EQ(api().stream_end_capture(s, &g), error_stream_capture_invalidated);
    EXPECT_TRUE(mark.comes());
}

TEST_F(user_objects, wrong_arguments_are_refused) {
    ending_mark& mark = make_mark();
    user_object object = nullptr;
    const auto create = [&](unsigned references, unsigned flags) {
        return api().user_object_create(&object, &mark, ending_mark::set, references, flags);
    };
    EXPECT_EQ(create(1, 0), error_invalid_value);
    EXPECT_EQ(create(1, 2), error_invalid_value);
    EXPECT_EQ(create(0, 1), error_invalid_value);
    const graph g = graph_test::create();
    object = make_object(mark);
    for (const unsigned count : {0u, 1u << 31}) {
        EXPECT_EQ(api().user_object_retain(object, count), error_invalid_value);
        EXPECT_EQ(api().user_object_release(object, count), error_invalid_value);
        EXPECT_EQ(api().graph_retain_user_object(g, object, count, 0), error_invalid_value);
        EXPECT_EQ(api().graph_release_user_object(g, object, count), error_invalid_value);
    }
    EXPECT_EQ(api().graph_retain_user_object(g, object, 1, 2), error_invalid_value);
    EXPECT_EQ(mark.ended, 0);
    EXPECT_EQ(api().user_object_release(object, 1), success);
    EXPECT_TRUE(mark.comes());
}

}  // namespace
}  // namespace hostlaunch::contract
