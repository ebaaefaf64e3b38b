// SPDX-License-Identifier: Apache-2.0
// Destructors of user objects: which thread runs them and when, and what they may call.
#include <array>

#include "embedded/graph_fixture.hpp"

namespace hostlaunch::embedded::test {
namespace {

class destructors : public embedded_driver {
  protected:
    static void expect_ended_here(const tomb& t) {
        EXPECT_EQ(t.ended, 1);
        EXPECT_EQ(t.thread.load(), std::this_thread::get_id());
    }
    static graph create() {
        graph g = nullptr;
        EXPECT_EQ(cuGraphCreate(&g, 0), success);
        return g;
    }
    static graph graph_with(tomb& t) {
        const graph g = create();
        give_object(g, t);
        return g;
    }
    // Begins a capture whose graph alone keeps the object.
    static void begin_with(stream s, tomb& t, capture_mode mode) {
        capture_status status{};
        graph g = nullptr;
        ASSERT_EQ(cuStreamBeginCapture_v2(s, mode), success);
        ASSERT_EQ(cuStreamGetCaptureInfo_v2(s, &status, nullptr, &g, nullptr, nullptr), success);
        give_object(g, t);
    }
    static std::thread::id runner_of(stream s) {
        std::atomic<std::thread::id> runner{};
        const auto tell = [](void* out) {
            *static_cast<std::atomic<std::thread::id>*>(out) = std::this_thread::get_id();
        };
        EXPECT_EQ(cuLaunchHostFunc(s, tell, &runner), success);
        EXPECT_EQ(cuStreamSynchronize(s), success);
        return runner;
    }
};

TEST_F(destructors, a_call_that_drops_the_last_reference_runs_it_before_it_returns) {
    tomb released;
    EXPECT_EQ(cuUserObjectRelease(make_object(released), 1), success);
    expect_ended_here(released);
    EXPECT_EQ(hostlaunch_embedded_live("user_objects"), 0);

    tomb of_graph;
    const graph g = create();
    const user_object object = make_object(of_graph);
    EXPECT_EQ(cuGraphRetainUserObject(g, object, 1, graph_user_object_move), success);
    EXPECT_EQ(cuGraphReleaseUserObject(g, object, 1), success);
    expect_ended_here(of_graph);
    EXPECT_EQ(cuGraphDestroy(g), success);

    std::array<tomb, 2> both;
    const graph first = graph_with(both[0]);
    give_object(first, both[1]);
    EXPECT_EQ(cuGraphDestroy(first), success);
    expect_ended_here(both[0]);
    expect_ended_here(both[1]);

    tomb of_child;
    const graph child = graph_with(of_child);
    const graph parent = create();
    graph_node node = nullptr;
    EXPECT_EQ(cuGraphAddChildGraphNode(&node, parent, nullptr, 0, child), success);
    EXPECT_EQ(cuGraphDestroy(child), success);
    EXPECT_EQ(of_child.ended, 0);
    EXPECT_EQ(cuGraphDestroyNode(node), success);
    expect_ended_here(of_child);
    EXPECT_EQ(cuGraphDestroy(parent), success);
}

TEST_F(destructors, an_executable_that_was_never_launched_ends_its_objects_in_the_call) {
    tomb destroyed;
    tomb replaced;
    const graph from = graph_with(replaced);
    const graph to = graph_with(destroyed);
    const graph_exec exec = instantiate(from);
    EXPECT_EQ(cuGraphDestroy(from), success);
    EXPECT_EQ(replaced.ended, 0);
    exec_update_result outcome{};
    EXPECT_EQ(cuGraphExecUpdate_v2(exec, to, &outcome), success);
    expect_ended_here(replaced);
    EXPECT_EQ(cuGraphDestroy(to), success);
    EXPECT_EQ(destroyed.ended, 0);
    EXPECT_EQ(cuGraphExecDestroy(exec), success);
    expect_ended_here(destroyed);
}

TEST_F(destructors, the_end_of_a_capture_that_drops_its_graph_runs_them) {
    stream s = make_stream();
    graph g = nullptr;
    tomb invalidated;
    begin_with(s, invalidated, capture_mode::relaxed);
    EXPECT_EQ(cuStreamSynchronize(s), error_stream_capture_unsupported);
    EXPECT_EQ(cuStreamEndCapture(s, &g), error_stream_capture_invalidated);
    expect_ended_here(invalidated);

    tomb elsewhere;
    begin_with(s, elsewhere, capture_mode::global);
    background([&] {
        EXPECT_EQ(cuStreamEndCapture(s, &g), error_stream_capture_wrong_thread);
        expect_ended_here(elsewhere);
    }).join();

    tomb of_stream;
    ASSERT_EQ(cuStreamCreate(&s, 0), success);
    begin_with(s, of_stream, capture_mode::relaxed);
    EXPECT_EQ(cuStreamDestroy_v2(s), success);
    expect_ended_here(of_stream);

    tomb of_context;
    context other = nullptr;
    ASSERT_EQ(cuCtxCreate_v2(&other, 0, 0), success);
    ASSERT_EQ(cuStreamCreate(&s, 0), success);
    begin_with(s, of_context, capture_mode::relaxed);
    EXPECT_EQ(cuCtxDestroy_v2(other), success);
    expect_ended_here(of_context);
}

TEST_F(destructors, one_thread_of_the_driver_ends_those_of_launched_executables) {
    const stream s = make_stream();
    const std::thread::id runner = runner_of(s);
    std::array<tomb, 3> tombs;
    std::atomic<int> ran{0};
    for (tomb& t : tombs) {
        const graph g = capture_counts(s, {&ran});
        give_object(g, t);
        const graph_exec exec = instantiate(g);
        EXPECT_EQ(cuGraphDestroy(g), success);
        EXPECT_EQ(cuGraphLaunch(exec, s), success);
        EXPECT_EQ(cuStreamSynchronize(s), success);
        EXPECT_EQ(cuGraphExecDestroy(exec), success);
        settle();
        EXPECT_EQ(t.ended, 1);
        EXPECT_EQ(t.thread.load(), tombs[0].thread.load());
        EXPECT_NE(t.thread.load(), std::this_thread::get_id());
        EXPECT_NE(t.thread.load(), runner);
    }
}

TEST_F(destructors, references_replaced_during_a_launch_end_on_that_thread) {
    const stream s = make_stream();
    const std::thread::id runner = runner_of(s);
    tomb old;
    std::atomic<int> ran{0};
    blocker b;
    const graph first =
        capture(s, [&] { ASSERT_EQ(cuLaunchHostFunc(s, blocker::run, &b), success); });
    const graph second = capture_counts(s, {&ran});
    give_object(first, old);
    const graph_exec exec = instantiate(first);
    EXPECT_EQ(cuGraphDestroy(first), success);
    ASSERT_EQ(cuGraphLaunch(exec, s), success);
    b.wait_until_running();
    exec_update_result outcome{};
    EXPECT_EQ(cuGraphExecUpdate_v2(exec, second, &outcome), success);
    give_it_time();
    EXPECT_EQ(old.ended, 0);
    b.let_go();
    settle();
    EXPECT_EQ(old.ended, 1);
    EXPECT_NE(old.thread.load(), std::this_thread::get_id());
    EXPECT_NE(old.thread.load(), runner);
    EXPECT_EQ(cuGraphExecDestroy(exec), success);
    EXPECT_EQ(cuGraphDestroy(second), success);
}

TEST_F(destructors, one_that_blocks_blocks_its_call_alone) {
    const stream s = make_stream();
    std::atomic<int> ran{0};
    tomb other;
    blocker b;
    user_object object = nullptr;
    ASSERT_EQ(cuUserObjectCreate(&object, &b, blocker::run, 1, 1), success);
    background releases([&] { EXPECT_EQ(cuUserObjectRelease(object, 1), success); });
    b.wait_until_running();
    EXPECT_EQ(cuLaunchHostFunc(s, count_up, &ran), success);
    EXPECT_EQ(cuStreamSynchronize(s), success);
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(cuUserObjectRelease(make_object(other), 1), success);
    EXPECT_EQ(other.ended, 1);
    EXPECT_EQ(hostlaunch_embedded_live("user_objects"), 1);
    give_it_time();
    EXPECT_FALSE(releases.finished());
    b.let_go();
    releases.join();
    EXPECT_EQ(hostlaunch_embedded_live("user_objects"), 0);
}

TEST_F(destructors, the_call_that_destroys_a_launched_executable_does_not_wait_for_them) {
    const stream s = make_stream();
    std::atomic<int> ran{0};
    blocker b;
    const graph g = capture_counts(s, {&ran});
    user_object object = nullptr;
    ASSERT_EQ(cuUserObjectCreate(&object, &b, blocker::run, 1, 1), success);
    ASSERT_EQ(cuGraphRetainUserObject(g, object, 1, graph_user_object_move), success);
    const graph_exec exec = instantiate(g);
    EXPECT_EQ(cuGraphDestroy(g), success);
    EXPECT_EQ(cuGraphLaunch(exec, s), success);
    EXPECT_EQ(cuStreamSynchronize(s), success);
    EXPECT_EQ(cuGraphExecDestroy(exec), success);
    b.wait_until_running();
    EXPECT_FALSE(b.has_ended());
}

// What may be called inside a host function, and so inside a destructor on any thread.
struct calls {
    graph g = nullptr;
    graph_exec exec = nullptr;
    stream s = nullptr;
    tomb kept;
    tomb fresh;
    user_object object = nullptr;
    std::atomic<int> ran{0};
    std::atomic<int> done{0};

    explicit calls(stream on) : s(on) {
        g = capture_counts(s, {&ran});
        exec = instantiate(g);
        object = make_object(kept);
    }
    static void make(void* self) {
        auto& c = *static_cast<calls*>(self);
        device_ptr memory = 0;
        graph_exec made = nullptr;
        user_object more = nullptr;
        EXPECT_EQ(cuMemAlloc_v2(&memory, 8), error_not_permitted);
        EXPECT_EQ(cuGraphInstantiateWithFlags(&made, c.g, 0), error_not_permitted);
        EXPECT_EQ(cuGraphExecDestroy(c.exec), error_not_permitted);
        EXPECT_EQ(cuGraphLaunch(c.exec, c.s), success);
        EXPECT_EQ(cuLaunchHostFunc(c.s, count_up, &c.ran), success);
        EXPECT_NE(cuStreamQuery(c.s), error_not_permitted);
        EXPECT_EQ(cuUserObjectRetain(c.object, 1), success);
        EXPECT_EQ(cuUserObjectRelease(c.object, 2), success);
        expect_ended_here(c.kept);
        EXPECT_EQ(cuUserObjectCreate(&more, &c.fresh, tomb::fill, 1, 1), success);
        EXPECT_EQ(cuUserObjectRelease(more, 1), success);
        expect_ended_here(c.fresh);
        EXPECT_EQ(cuMemAlloc_v2(&memory, 8), error_not_permitted);  // still inside
        c.done = 1;
    }
    static void expect_ended_here(const tomb& t) {
        EXPECT_EQ(t.ended, 1);
        EXPECT_EQ(t.thread.load(), std::this_thread::get_id());
    }
    void expect_made() {
        EXPECT_TRUE(reaches(done, 1));
        EXPECT_EQ(cuStreamSynchronize(s), success);
        EXPECT_EQ(ran, 2);
        device_ptr memory = 0;
        EXPECT_EQ(cuMemAlloc_v2(&memory, 8), success);  // no longer inside
        EXPECT_EQ(cuMemFree_v2(memory), success);
        EXPECT_EQ(cuGraphExecDestroy(exec), success);
        EXPECT_EQ(cuGraphDestroy(g), success);
    }
};

TEST_F(destructors, they_call_what_a_host_function_may_on_the_calling_thread) {
    calls c(make_stream());
    user_object object = nullptr;
    ASSERT_EQ(cuUserObjectCreate(&object, &c, calls::make, 1, 1), success);
    EXPECT_EQ(cuUserObjectRelease(object, 1), success);
    EXPECT_EQ(c.done, 1);
    c.expect_made();
}

TEST_F(destructors, they_call_what_a_host_function_may_on_the_driver_s_thread) {
    calls c(make_stream());
    user_object object = nullptr;
    ASSERT_EQ(cuUserObjectCreate(&object, &c, calls::make, 1, 1), success);
    const graph g = create();
    ASSERT_EQ(cuGraphRetainUserObject(g, object, 1, graph_user_object_move), success);
    const graph_exec exec = instantiate(g);
    EXPECT_EQ(cuGraphDestroy(g), success);
    EXPECT_EQ(cuGraphLaunch(exec, c.s), success);
    EXPECT_EQ(cuGraphExecDestroy(exec), success);
    c.expect_made();
    settle();
}

TEST_F(destructors, a_host_function_makes_the_same_calls) {
    const stream s = make_stream();
    calls c(make_stream());
    EXPECT_EQ(cuLaunchHostFunc(s, calls::make, &c), success);
    EXPECT_EQ(cuStreamSynchronize(s), success);
    c.expect_made();
}

}  // namespace
}  // namespace hostlaunch::embedded::test
