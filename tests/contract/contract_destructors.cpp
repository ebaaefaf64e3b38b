// SPDX-License-Identifier: Apache-2.0
// Destructors of user objects: on which thread they run, when, and whom one that blocks holds up.
#include "contract/graph_scene.hpp"

namespace hostlaunch::contract {
namespace {

class destructors : public graph_test {
  protected:
    // Begins a capture whose graph alone keeps an object.
    static ending_mark& begin_with_object(stream s, capture_mode mode) {
        capture_status status{};
        graph g = nullptr;
        EXPECT_EQ(api().stream_begin_capture(s, mode), success);
        EXPECT_EQ(api().stream_get_capture_info(s, &status, nullptr, &g, nullptr, nullptr, nullptr),
                  success);
        return give_object(g);
    }
    // The thread that runs the host functions of the stream.
    std::thread::id runner_of(stream s) {
        auto& runner = keep<std::atomic<std::thread::id>>();
        const auto tell = [](void* out) {
            *static_cast<std::atomic<std::thread::id>*>(out) = std::this_thread::get_id();
        };
        EXPECT_EQ(api().launch_host_func(s, tell, &runner), success);
        EXPECT_EQ(api().stream_synchronize(s), success);
        return runner;
    }
    // Neither this thread nor that of host functions.
    void expect_ended_by_the_driver(ending_mark& mark, stream s) {
        EXPECT_TRUE(mark.comes());
        EXPECT_EQ(mark.ended, 1);
        EXPECT_NE(mark.thread.load(), std::this_thread::get_id());
        EXPECT_NE(mark.thread.load(), runner_of(s));
    }
};

TEST_F(destructors, the_release_of_the_last_reference_runs_it_before_it_returns) {
    ending_mark& released = make_mark();
    EXPECT_EQ(api().user_object_release(make_object(released), 1), success);
    released.expect_ended_here();
    const graph g = create();
    ending_mark& mark = make_mark();
    const user_object object = make_object(mark);
    ASSERT_EQ(api().graph_retain_user_object(g, object, 1, graph_user_object_move), success);
    EXPECT_EQ(api().graph_release_user_object(g, object, 1), success);
    mark.expect_ended_here();
}

TEST_F(destructors, the_end_of_a_graph_or_of_an_executable_never_launched_runs_it_too) {
    const graph g = create();
    ending_mark& of_graph = give_object(g);
    destroy(g);
    of_graph.expect_ended_here();
    const graph other = create();
    ending_mark& of_exec = give_object(other);
    const graph_exec exec = instantiate(other);
    destroy(other);
    EXPECT_EQ(of_exec.ended, 0);
    destroy(exec);
    of_exec.expect_ended_here();
}

TEST_F(destructors, the_end_of_an_invalid_capture_runs_it_too) {
    const stream s = make_stream();
    graph g = nullptr;
    ending_mark& mark = begin_with_object(s, capture_mode::relaxed);
    EXPECT_EQ(api().stream_synchronize(s), error_stream_capture_unsupported);
    EXPECT_EQ(mark.ended, 0);
    EXPECT_EQ(api().stream_end_capture(s, &g), error_stream_capture_invalidated);
    mark.expect_ended_here();
}

TEST_F(destructors, the_end_of_a_capture_by_the_wrong_thread_runs_it_there) {
    const stream s = make_stream();
    for (const capture_mode mode : {capture_mode::global, capture_mode::thread_local_mode}) {
        ending_mark& mark = begin_with_object(s, mode);
        call& ends = elsewhere([s, &mark] {
            graph g = nullptr;
            const result ended = api().stream_end_capture(s, &g);
            mark.expect_ended_here();
            return ended;
        });
        EXPECT_EQ(ends.answer(), error_stream_capture_wrong_thread);
    }
}

TEST_F(destructors, an_executable_that_was_launched_leaves_it_to_another_thread) {
    const stream s = make_stream();
    const graph g = capture_counts(s, make_counter());
    ending_mark& mark = give_object(g);
    const graph_exec exec = instantiate(g);
    run(exec, s);
    destroy(g);
    EXPECT_EQ(mark.ended, 0);
    destroy(exec);
    expect_ended_by_the_driver(mark, s);
}

TEST_F(destructors, the_end_of_an_executable_that_was_launched_does_not_wait_for_it) {
    const stream s = make_stream();
    const graph g = capture_counts(s, make_counter());
    blocker& held = make_blocker();
    user_object object = nullptr;
    ASSERT_EQ(api().user_object_create(&object, &held, blocker::run, 1, 1), success);
    ASSERT_EQ(api().graph_retain_user_object(g, object, 1, graph_user_object_move), success);
    const graph_exec exec = instantiate(g);
    run(exec, s);
    destroy(g);
    call& destroys = elsewhere([exec] { return api().graph_exec_destroy(exec); });
    EXPECT_TRUE(destroys.returns());
    disown(exec);
    EXPECT_TRUE(held.wait_until_running());
    EXPECT_TRUE(held.is_held());
    held.let_go();
    EXPECT_TRUE(eventually([&] { return held.has_ended(); }));
}

TEST_F(destructors, a_launch_in_flight_leaves_it_to_another_thread) {
    const stream s = make_stream();
    blocker& held = make_blocker();
    const graph g = capture_function(s, blocker::run, &held);
    ending_mark& mark = give_object(g);
    const graph_exec exec = instantiate(g);
    ASSERT_EQ(api().graph_launch(exec, s), success);
    ASSERT_TRUE(held.wait_until_running());
    std::thread::id caller;
    call& destroys = elsewhere([this, g, exec, &caller] {
        caller = std::this_thread::get_id();
        destroy(g);
        destroy(exec);
        return success;
    });
    destroys.returns();
    EXPECT_TRUE(mark.stays_away());
    held.let_go();
    EXPECT_EQ(destroys.answer(), success);
    EXPECT_EQ(api().stream_synchronize(s), success);
    expect_ended_by_the_driver(mark, s);
    EXPECT_NE(mark.thread.load(), caller);
}

TEST_F(destructors, an_update_during_a_launch_leaves_it_to_another_thread) {
    const stream s = make_stream();
    blocker& held = make_blocker();
    const graph first = capture_function(s, blocker::run, &held);
    const graph second = capture_counts(s, make_counter());
    ending_mark& old = give_object(first);
    const graph_exec exec = instantiate(first);
    destroy(first);
    ASSERT_EQ(api().graph_launch(exec, s), success);
    ASSERT_TRUE(held.wait_until_running());
    exec_update_result outcome{};
    std::thread::id caller;
    call& updates = elsewhere([&] {
        caller = std::this_thread::get_id();
        return api().graph_exec_update(exec, second, &outcome);
    });
    updates.returns();
    EXPECT_TRUE(old.stays_away());
    held.let_go();
    EXPECT_EQ(updates.answer(), success);
    EXPECT_EQ(api().stream_synchronize(s), success);
    expect_ended_by_the_driver(old, s);
    EXPECT_NE(old.thread.load(), caller);
}

TEST_F(destructors, one_that_blocks_holds_up_its_call_and_nothing_else) {
    const stream s = make_stream();
    std::atomic<int>& ran = make_counter();
    blocker& held = make_blocker();
    user_object object = nullptr;
    ASSERT_EQ(api().user_object_create(&object, &held, blocker::run, 1, 1), success);
    call& releases = elsewhere([object] { return api().user_object_release(object, 1); });
    ASSERT_TRUE(held.wait_until_running());
    EXPECT_TRUE(releases.blocks());
    ASSERT_EQ(launch(s, ran), success);
    EXPECT_TRUE(eventually([&] { return ran == 1; }, promptly));
    ending_mark& other = make_mark();
    EXPECT_EQ(api().user_object_release(make_object(other), 1), success);
    other.expect_ended_here();
    EXPECT_TRUE(held.is_held());
    held.let_go();
    EXPECT_EQ(releases.answer(), success);
    EXPECT_EQ(api().stream_synchronize(s), success);
}

}  // namespace
}  // namespace hostlaunch::contract
