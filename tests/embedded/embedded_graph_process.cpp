// SPDX-License-Identifier: Apache-2.0
// Graphs and user objects after a fork, after a sticky error and at exit. Each case has its own
// process.
#include <cstdlib>

#include "embedded/graph_fixture.hpp"

namespace hostlaunch::embedded::test {
namespace {

struct scene {
    context ctx = nullptr;
    stream s = nullptr;
    graph g = nullptr;
    graph_exec exec = nullptr;
    user_object kept = nullptr;
    user_object alone = nullptr;  // no graph keeps it
    std::atomic<int> ran{0};
    tomb object;
    tomb lonely;

    scene() {
        EXPECT_EQ(cuInit(0), success);
        EXPECT_EQ(cuDevicePrimaryCtxRetain(&ctx, 0), success);
        EXPECT_EQ(cuCtxSetCurrent(ctx), success);
        EXPECT_EQ(cuStreamCreate(&s, stream_non_blocking), success);
        g = capture_counts(s, {&ran});
        kept = make_object(object);
        EXPECT_EQ(cuGraphRetainUserObject(g, kept, 1, 0), success);
        exec = instantiate(g);
        alone = make_object(lonely);
    }
    // The graph alone keeps an object with this destructor.
    void give_object_that(host_fn destroy, void* value) const {
        user_object made = nullptr;
        EXPECT_EQ(cuUserObjectCreate(&made, value, destroy, 1, 1), success);
        EXPECT_EQ(cuGraphRetainUserObject(g, made, 1, graph_user_object_move), success);
    }
};

// contract: X2
TEST(graphs_after_fork, nothing_of_the_parent_runs_or_ends_in_the_child) {
    in_forked_child([] {
        scene x;
        blocker b;
        EXPECT_EQ(cuLaunchHostFunc(x.s, blocker::run, &b), success);
        EXPECT_EQ(cuGraphLaunch(x.exec, x.s), success);
        b.wait_until_running();
        in_forked_child([&] {
            user_object made = nullptr;
            EXPECT_EQ(cuGraphLaunch(x.exec, x.s), success);
            EXPECT_EQ(cuGraphExecDestroy(x.exec), error_not_initialized);
            EXPECT_EQ(cuGraphDestroy(x.g), error_not_initialized);
            EXPECT_EQ(cuUserObjectRelease(x.kept, 1), success);
            EXPECT_EQ(cuUserObjectRelease(x.alone, 1), success);
            EXPECT_EQ(cuUserObjectCreate(&made, &x, tomb::fill, 1, 1), error_not_initialized);
            give_it_time();
            EXPECT_EQ(x.ran, 0);
            EXPECT_EQ(x.object.ended, 0);
            EXPECT_EQ(x.lonely.ended, 0);
        });
        b.let_go();
        EXPECT_EQ(cuStreamSynchronize(x.s), success);
        EXPECT_EQ(x.ran, 1);
        EXPECT_EQ(cuUserObjectRelease(x.kept, 1), success);
        EXPECT_EQ(cuGraphDestroy(x.g), success);
        EXPECT_EQ(cuGraphExecDestroy(x.exec), success);
        settle();
        EXPECT_EQ(x.object.ended, 1);
    });
}

std::atomic<int> child_status{-1};

// contract: X2. The child of a fork inside a destructor is that thread, alone.
void fork_in_destructor(void*) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        // The main thread's stack may not exist here, so a leak check would misread it.
        std::atexit([] { _exit(testing::Test::HasFailure() ? 1 : 0); });
        return;
    }
    int status = 0;
    waitpid(child, &status, 0);
    child_status = status;
}

TEST(graphs_after_fork, a_destructor_on_the_driver_s_thread_may_fork_and_its_child_ends_nothing) {
    in_forked_child([] {
        scene x;
        x.give_object_that(fork_in_destructor, nullptr);
        const graph_exec launched = instantiate(x.g);
        EXPECT_EQ(cuGraphExecDestroy(x.exec), success);
        EXPECT_EQ(cuGraphDestroy(x.g), success);
        EXPECT_EQ(cuGraphLaunch(launched, x.s), success);
        EXPECT_EQ(cuGraphExecDestroy(launched), success);  // the child ends its last thread
        settle();
        EXPECT_EQ(child_status, 0);
        EXPECT_EQ(cuUserObjectRelease(x.kept, 1), success);
        EXPECT_EQ(cuUserObjectRelease(x.alone, 1), success);
        settle();
    });
}

TEST(graphs_after_fork, a_destructor_on_the_calling_thread_may_fork_and_its_child_ends_nothing) {
    in_forked_child([] {
        scene x;
        const pid_t parent = getpid();
        x.give_object_that(fork_in_destructor, nullptr);
        EXPECT_EQ(cuUserObjectRelease(x.alone, 1), success);
        graph g = nullptr;
        tomb behind;
        EXPECT_EQ(cuGraphClone(&g, x.g), success);
        give_object(g, behind);
        EXPECT_EQ(cuGraphExecDestroy(x.exec), success);
        EXPECT_EQ(cuGraphDestroy(x.g), success);
        EXPECT_EQ(cuGraphDestroy(g), success);  // both processes return from here
        if (getpid() != parent) {
            EXPECT_EQ(behind.ended, 0);
            EXPECT_EQ(cuCtxSynchronize(), error_not_initialized);
            _exit(testing::Test::HasFailure() ? 1 : 0);
        }
        EXPECT_EQ(child_status, 0);
        EXPECT_EQ(behind.ended, 1);
        EXPECT_EQ(cuUserObjectRelease(x.kept, 1), success);
        settle();
    });
}

// contract: X3, B2
TEST(graphs_after_a_sticky_error, launches_are_dropped_and_objects_are_released_once) {
    in_forked_child([] {
        constexpr result fault = error_illegal_address;
        scene x;
        blocker b;
        EXPECT_EQ(cuLaunchHostFunc(x.s, blocker::run, &b), success);
        EXPECT_EQ(cuGraphLaunch(x.exec, x.s), success);
        b.wait_until_running();
        hostlaunch_embedded_sticky_error(fault);
        EXPECT_EQ(cuGraphLaunch(x.exec, x.s), fault);
        graph_exec exec = nullptr;
        EXPECT_EQ(cuGraphInstantiateWithFlags(&exec, x.g, 0), fault);
        EXPECT_EQ(cuGraphExecDestroy(x.exec), success);
        EXPECT_EQ(cuGraphDestroy(x.g), success);
        EXPECT_EQ(hostlaunch_embedded_live("graphs"), 0);
        EXPECT_EQ(cuUserObjectRelease(x.kept, 1), success);
        EXPECT_EQ(cuUserObjectRelease(x.alone, 1), success);
        EXPECT_EQ(x.lonely.ended, 1);
        EXPECT_EQ(x.object.ended, 0);  // the function before the launch still runs
        b.let_go();
        settle();
        EXPECT_EQ(x.ran, 0);
        EXPECT_EQ(x.object.ended, 1);
        EXPECT_EQ(hostlaunch_embedded_live("graph_execs"), 0);
    });
}

// Never freed: exit handlers use them.
scene* at_exit_scene = nullptr;
blocker* at_exit_blocker = nullptr;

// contract: X1. A destructor that is due when the exit begins, behind one that runs.
TEST(graphs_at_exit, destructors_do_not_start_once_the_process_exits) {
    in_forked_child([] {
        std::atexit([] {  // runs after the driver's own handler
            at_exit_blocker->let_go();
            give_it_time();
            _exit(at_exit_scene->object.ended == 0 && !testing::Test::HasFailure() ? 0 : 1);
        });
        at_exit_scene = new scene;
        at_exit_blocker = new blocker;
        scene& x = *at_exit_scene;
        EXPECT_EQ(cuUserObjectRelease(x.alone, 1), success);
        graph other = nullptr;
        EXPECT_EQ(cuGraphClone(&other, x.g), success);
        x.give_object_that(blocker::run, at_exit_blocker);
        const graph_exec blocks = instantiate(x.g);
        for (const graph_exec exec : {blocks, x.exec}) {
            EXPECT_EQ(cuGraphLaunch(exec, x.s), success);
        }
        EXPECT_EQ(cuStreamSynchronize(x.s), success);
        EXPECT_EQ(cuGraphDestroy(x.g), success);
        EXPECT_EQ(cuGraphExecDestroy(blocks), success);
        at_exit_blocker->wait_until_running();
        EXPECT_EQ(cuUserObjectRelease(x.kept, 1), success);
        EXPECT_EQ(cuGraphDestroy(other), success);
        EXPECT_EQ(cuGraphExecDestroy(x.exec), success);
        EXPECT_EQ(hostlaunch_embedded_live("user_objects"), 2);
        std::exit(1);
    });
}

TEST(graphs_before_init, nothing_works) {
    in_forked_child([] {
        graph g = nullptr;
        graph_exec exec = nullptr;
        user_object object = nullptr;
        tomb t;
        EXPECT_EQ(cuGraphCreate(&g, 0), error_not_initialized);
        EXPECT_EQ(cuGraphInstantiateWithFlags(&exec, g, 0), error_not_initialized);
        EXPECT_EQ(cuGraphLaunch(exec, nullptr), error_not_initialized);
        EXPECT_EQ(cuUserObjectCreate(&object, &t, tomb::fill, 1, 1), error_not_initialized);
    });
}

}  // namespace
}  // namespace hostlaunch::embedded::test
