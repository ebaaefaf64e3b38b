// SPDX-License-Identifier: Apache-2.0
// fork: a child of an initialised process, and of one that was not. Each case has its own process.
#include <cstdlib>

#include "embedded/fixture.hpp"

namespace hostlaunch::embedded::test {
namespace {

stream make_one_stream() {
    context ctx = nullptr;
    stream s = nullptr;
    EXPECT_EQ(cuInit(0), success);
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&ctx, 0), success);
    EXPECT_EQ(cuCtxSetCurrent(ctx), success);
    EXPECT_EQ(cuStreamCreate(&s, stream_non_blocking), success);
    return s;
}

void expect_dead(stream s) {
    std::atomic<int> ran{0};
    const char* name = nullptr;
    event e = nullptr;
    context ctx = nullptr;
    EXPECT_EQ(cuLaunchHostFunc(s, count_up, &ran), success);
    EXPECT_EQ(cuInit(0), error_not_initialized);
    EXPECT_EQ(cuCtxSynchronize(), error_not_initialized);
    EXPECT_EQ(cuStreamSynchronize(s), error_not_initialized);
    EXPECT_EQ(cuStreamQuery(s), error_not_initialized);
    EXPECT_EQ(cuEventCreate(&e, 0), error_not_initialized);
    EXPECT_EQ(cuStreamDestroy_v2(s), error_not_initialized);
    EXPECT_EQ(cuCtxGetCurrent(&ctx), error_not_initialized);
    EXPECT_EQ(cuGetErrorName(3, &name), success);
    give_it_time();
    EXPECT_EQ(ran, 0);
}

// contract: X2
TEST(after_fork, a_child_of_an_initialised_process_is_told_so_and_runs_nothing) {
    in_forked_child([] {
        const stream s = make_one_stream();
        std::atomic<int> ran{0};
        blocker b;
        EXPECT_EQ(cuLaunchHostFunc(s, blocker::run, &b), success);
        EXPECT_EQ(cuLaunchHostFunc(s, count_up, &ran), success);
        b.wait_until_running();
        in_forked_child([&] {
            expect_dead(s);
            EXPECT_EQ(ran, 0);
        });
        b.let_go();
        EXPECT_EQ(cuStreamSynchronize(s), success);
        EXPECT_EQ(ran, 1);
    });
}

// contract: X2
TEST(after_fork, a_child_works_if_the_driver_was_not_initialised) {
    in_forked_child([] {
        std::atomic<int> ran{0};
        EXPECT_EQ(cuLaunchHostFunc(nullptr, count_up, &ran), error_not_initialized);
        in_forked_child([&] {
            const stream s = make_one_stream();
            EXPECT_EQ(cuLaunchHostFunc(s, count_up, &ran), success);
            EXPECT_EQ(cuStreamSynchronize(s), success);
            EXPECT_EQ(ran, 1);
        });
        EXPECT_EQ(ran, 0);
    });
}

// contract: X2. Whatever lock the other threads hold at the fork, the child finds none.
TEST(after_fork, nothing_hangs_while_other_threads_are_in_the_driver) {
    in_forked_child([] {
        const stream s = make_one_stream();
        std::atomic<bool> stop{false};
        std::atomic<int> ran{0};
        hostlaunch_embedded_set_log(1);
        std::vector<std::unique_ptr<background>> busy;
        for (int i = 0; i < 3; ++i) {
            busy.push_back(std::make_unique<background>([&] {
                while (!stop) {
                    cuLaunchHostFunc(s, count_up, &ran);
                    cuStreamQuery(s);
                }
            }));
        }
        for (int i = 0; i < 20; ++i) {
            in_forked_child([&] {
                EXPECT_EQ(cuLaunchHostFunc(s, count_up, &ran), success);
                EXPECT_EQ(cuStreamQuery(s), error_not_initialized);
                hostlaunch_embedded_reset();
                EXPECT_GE(hostlaunch_embedded_live("streams"), 1);
            });
        }
        stop = true;
        busy.clear();
        EXPECT_EQ(cuStreamSynchronize(s), success);
    });
}

TEST(after_fork, a_hold_of_the_parent_holds_nobody_in_the_child) {
    in_forked_child([] {
        const stream s = make_one_stream();
        EXPECT_EQ(hostlaunch_embedded_hold("cuStreamQuery"), 0);
        in_forked_child([&] { EXPECT_EQ(cuStreamQuery(s), error_not_initialized); });
        hostlaunch_embedded_release("cuStreamQuery");
        EXPECT_EQ(cuStreamQuery(s), success);
    });
}

std::atomic<int> child_status{-1};

// contract: X2. The child of a fork inside a host function is the driver's thread, alone.
TEST(after_fork, a_host_function_may_fork_and_its_child_runs_nothing_more) {
    in_forked_child([] {
        const stream s = make_one_stream();
        static std::atomic<int> ran{0};
        const auto forks = [](void* own) {
            const pid_t child = fork();
            if (child == 0) {
                alarm(60);
                if (cuLaunchHostFunc(static_cast<stream>(own), count_up, &ran) != success) {
                    _exit(1);
                }
                // The main thread's stack does not exist here, so a leak check would misread it.
                std::atexit([] { _exit(0); });
                return;  // into the driver's frame, which ends this last thread
            }
            int status = 0;
            waitpid(child, &status, 0);
            child_status = status;
        };
        EXPECT_EQ(cuLaunchHostFunc(s, forks, s), success);
        EXPECT_EQ(cuLaunchHostFunc(s, count_up, &ran), success);
        EXPECT_EQ(cuStreamSynchronize(s), success);
        EXPECT_EQ(ran, 1);
        EXPECT_EQ(child_status, 0);
    });
}

}  // namespace
}  // namespace hostlaunch::embedded::test
