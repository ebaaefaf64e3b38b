// SPDX-License-Identifier: Apache-2.0
// User objects: who holds references, and when the last one goes. Where the destructor then runs is
// tested in destructors.cpp.
#include <algorithm>
#include <array>
#include <climits>

#include "embedded/graph_fixture.hpp"

namespace hostlaunch::embedded::test {
namespace {

using references = embedded_driver;

TEST_F(references, the_last_release_runs_the_destructor_once) {
    tomb t;
    const user_object object = make_object(t, 2);
    EXPECT_EQ(cuUserObjectRetain(object, 3), success);
    EXPECT_EQ(cuUserObjectRelease(object, 4), success);
    EXPECT_EQ(hostlaunch_embedded_live("user_objects"), 1);
    EXPECT_EQ(t.ended, 0);
    const std::int64_t before = hostlaunch_embedded_live("destructors");
    EXPECT_EQ(cuUserObjectRelease(object, 1), success);
    EXPECT_EQ(t.ended, 1);
    EXPECT_EQ(hostlaunch_embedded_live("user_objects"), 0);
    EXPECT_EQ(hostlaunch_embedded_live("destructors"), before + 1);
    EXPECT_EQ(cuUserObjectRelease(object, 1), error_invalid_value);
    EXPECT_EQ(cuUserObjectRetain(object, 1), error_invalid_value);
}

TEST_F(references, an_object_may_begin_with_more_than_an_int_can_count) {
    tomb t;
    const user_object object = make_object(t, unsigned{INT_MAX} + 1);
    EXPECT_EQ(cuUserObjectRelease(object, INT_MAX), success);
    EXPECT_EQ(t.ended, 0);
    EXPECT_EQ(cuUserObjectRelease(object, 1), success);
    EXPECT_EQ(t.ended, 1);
}

// contract: B2
TEST_F(references, a_graph_keeps_its_objects_until_it_is_destroyed) {
    tomb moved;
    tomb copied;
    graph g = nullptr;
    ASSERT_EQ(cuGraphCreate(&g, 0), success);
    const user_object first = make_object(moved);
    EXPECT_EQ(cuGraphRetainUserObject(g, first, 1, graph_user_object_move), success);
    EXPECT_EQ(cuUserObjectRelease(first, 1), error_invalid_value);  // no longer the caller's
    const user_object second = make_object(copied);
    EXPECT_EQ(cuGraphRetainUserObject(g, second, 2, 0), success);
    EXPECT_EQ(cuUserObjectRelease(second, 1), success);
    settle();
    EXPECT_EQ(moved.ended + copied.ended, 0);
    EXPECT_EQ(cuGraphReleaseUserObject(g, second, 3), error_invalid_value);
    EXPECT_EQ(cuGraphReleaseUserObject(g, second, 2), success);
    settle();
    EXPECT_EQ(copied.ended, 1);
    EXPECT_EQ(moved.ended, 0);
    EXPECT_EQ(cuGraphDestroy(g), success);
    settle();
    EXPECT_EQ(moved.ended, 1);
}

// Graph, clone, executable, and the launch in flight, each of which keeps the object alone once the
// others are gone: destroyed in every order.
TEST_F(references, whoever_goes_last_releases_the_object_once) {
    enum part { of_graph, of_clone, of_exec, of_clone_exec };
    std::array<part, 4> order{of_graph, of_clone, of_exec, of_clone_exec};
    const stream s = make_stream();
    hostlaunch_embedded_set_manual(1);
    do {
        tomb t;
        std::atomic<int> ran{0};
        const graph g = capture_counts(s, {&ran});
        give_object(g, t);
        graph clone = nullptr;
        ASSERT_EQ(cuGraphClone(&clone, g), success);
        const graph_exec exec = instantiate(g);
        const graph_exec clone_exec = instantiate(clone);
        ASSERT_EQ(cuGraphLaunch(exec, s), success);
        ASSERT_EQ(cuGraphLaunch(clone_exec, s), success);
        for (const part p : order) {
            const result answer = p == of_graph   ? cuGraphDestroy(g)
                                  : p == of_clone ? cuGraphDestroy(clone)
                                  : p == of_exec  ? cuGraphExecDestroy(exec)
                                                  : cuGraphExecDestroy(clone_exec);
            EXPECT_EQ(answer, success);
        }
        EXPECT_EQ(t.ended, 0);
        EXPECT_EQ(hostlaunch_embedded_live("graph_execs"), 2);
        EXPECT_EQ(hostlaunch_embedded_step(1, patience_ms), 1);
        EXPECT_EQ(t.ended, 0);
        EXPECT_EQ(hostlaunch_embedded_step(1, patience_ms), 1);
        settle();
        EXPECT_EQ(ran, 2);
        EXPECT_EQ(t.ended, 1);
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(references, launches_in_flight_keep_the_objects_until_they_have_completed) {
    const stream s = make_stream();
    tomb t;
    blocker b;
    const graph g = capture(s, [&] { ASSERT_EQ(cuLaunchHostFunc(s, blocker::run, &b), success); });
    give_object(g, t);
    const graph_exec exec = instantiate(g);
    ASSERT_EQ(cuGraphLaunch(exec, s), success);
    ASSERT_EQ(cuGraphLaunch(exec, s), success);
    b.wait_until_running();
    EXPECT_EQ(cuGraphDestroy(g), success);
    EXPECT_EQ(cuGraphExecDestroy(exec), success);
    EXPECT_EQ(cuGraphLaunch(exec, s), error_invalid_value);
    give_it_time();
    EXPECT_EQ(t.ended, 0);
    b.let_go();
    settle();
    EXPECT_EQ(t.ended, 1);
}

TEST_F(references, a_child_graph_has_references_of_its_own) {
    const stream s = make_stream();
    tomb t;
    std::atomic<int> ran{0};
    const graph child = capture_counts(s, {&ran});
    give_object(child, t);
    graph parent = nullptr;
    graph_node node = nullptr;
    ASSERT_EQ(cuGraphCreate(&parent, 0), success);
    ASSERT_EQ(cuGraphAddChildGraphNode(&node, parent, nullptr, 0, child), success);
    graph inside = nullptr;
    ASSERT_EQ(cuGraphChildGraphNodeGetGraph(node, &inside), success);
    EXPECT_EQ(cuGraphDestroy(inside), error_invalid_value);
    EXPECT_EQ(cuGraphDestroy(child), success);
    const graph_exec exec = instantiate(parent);
    EXPECT_EQ(cuGraphDestroyNode(node), success);  // and the child graph with it
    EXPECT_EQ(cuGraphChildGraphNodeGetGraph(node, &inside), error_invalid_value);
    ASSERT_EQ(cuGraphLaunch(exec, s), success);
    EXPECT_EQ(cuStreamSynchronize(s), success);
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(t.ended, 0);
    EXPECT_EQ(cuGraphExecDestroy(exec), success);
    settle();
    EXPECT_EQ(t.ended, 1);
    EXPECT_EQ(cuGraphDestroy(parent), success);
}

TEST_F(references, an_abandoned_capture_lets_go_of_its_objects) {
    stream s = nullptr;
    ASSERT_EQ(cuStreamCreate(&s, stream_non_blocking), success);
    tomb t;
    capture_status status{};
    graph g = nullptr;
    ASSERT_EQ(cuStreamBeginCapture_v2(s, capture_mode::relaxed), success);
    ASSERT_EQ(cuStreamGetCaptureInfo_v2(s, &status, nullptr, &g, nullptr, nullptr), success);
    give_object(g, t);
    EXPECT_EQ(cuStreamDestroy_v2(s), success);
    settle();
    EXPECT_EQ(t.ended, 1);
}

TEST_F(references, wrong_arguments_are_refused) {
    tomb t;
    graph g = nullptr;
    user_object object = nullptr;
    ASSERT_EQ(cuGraphCreate(&g, 0), success);
    const unsigned too_many = unsigned{INT_MAX} + 1;
    EXPECT_EQ(cuUserObjectCreate(nullptr, &t, tomb::fill, 1, 1), error_invalid_value);
    EXPECT_EQ(cuUserObjectCreate(&object, &t, nullptr, 1, 1), error_invalid_value);
    EXPECT_EQ(cuUserObjectCreate(&object, &t, tomb::fill, 1, 0), error_invalid_value);
    EXPECT_EQ(cuUserObjectCreate(&object, &t, tomb::fill, 1, 2), error_invalid_value);
    EXPECT_EQ(cuUserObjectCreate(&object, &t, tomb::fill, 0, 1), error_invalid_value);
    object = make_object(t);
    for (const unsigned count : {0u, too_many}) {
        EXPECT_EQ(cuUserObjectRetain(object, count), error_invalid_value);
        EXPECT_EQ(cuUserObjectRelease(object, count), error_invalid_value);
        EXPECT_EQ(cuGraphRetainUserObject(g, object, count, 0), error_invalid_value);
        EXPECT_EQ(cuGraphReleaseUserObject(g, object, count), error_invalid_value);
    }
    EXPECT_EQ(cuUserObjectRelease(object, 2), error_invalid_value);
    EXPECT_EQ(cuGraphRetainUserObject(g, object, 1, 2), error_invalid_value);
    EXPECT_EQ(cuGraphRetainUserObject(g, object, 2, graph_user_object_move), error_invalid_value);
    EXPECT_EQ(cuGraphRetainUserObject(nullptr, object, 1, 0), error_invalid_value);
    EXPECT_EQ(cuGraphRetainUserObject(g, nullptr, 1, 0), error_invalid_value);
    EXPECT_EQ(cuGraphReleaseUserObject(g, object, 1), error_invalid_value);
    EXPECT_EQ(cuUserObjectRelease(object, 1), success);
    EXPECT_EQ(cuGraphDestroy(g), success);
    settle();
    EXPECT_EQ(t.ended, 1);
}

// Nothing grows: handles, executables and objects are as many after 10,000 rounds as after none.
TEST_F(references, ten_thousand_rounds_leave_nothing_behind) {
    constexpr int rounds = 10'000;
    const stream s = make_stream();
    std::atomic<int> ran{0};
    tomb t;
    for (int i = 0; i < rounds; ++i) {
        const graph g = capture_counts(s, {&ran});
        give_object(g, t);
        const graph_exec exec = instantiate(g);
        ASSERT_EQ(cuGraphLaunch(exec, s), success);
        ASSERT_EQ(cuGraphExecDestroy(exec), success);
        ASSERT_EQ(cuGraphDestroy(g), success);
        ASSERT_EQ(hostlaunch_embedded_live("graphs"), 0);
    }
    settle();
    EXPECT_EQ(ran, rounds);
    EXPECT_EQ(t.ended, rounds);
}

}  // namespace
}  // namespace hostlaunch::embedded::test
