// SPDX-License-Identifier: Apache-2.0
// Which signals reach the driver's threads: those that tell of a crash, and no others.
#include <csignal>

#include "embedded/graph_fixture.hpp"

namespace hostlaunch::embedded::test {
namespace {

using crash_signals = embedded_driver;

void tell_mask(void* out) {
    pthread_sigmask(SIG_SETMASK, nullptr, static_cast<sigset_t*>(out));
}

void expect_crashes_only(const sigset_t& blocked) {
    for (const int crash : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) {
        EXPECT_EQ(sigismember(&blocked, crash), 0) << strsignal(crash);
    }
    for (const int other : {SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGCHLD, SIGUSR1, SIGPROF}) {
        EXPECT_EQ(sigismember(&blocked, other), 1) << strsignal(other);
    }
}

// contract: L7
TEST_F(crash_signals, reach_the_threads_that_run_host_functions) {
    const stream s = make_stream();
    for (const int mode :
         {hostlaunch_embedded_threads_per_context, hostlaunch_embedded_threads_per_stream,
          hostlaunch_embedded_threads_fresh}) {
        hostlaunch_embedded_set_threads(mode);
        sigset_t blocked;
        sigfillset(&blocked);
        ASSERT_EQ(cuLaunchHostFunc(s, tell_mask, &blocked), success);
        ASSERT_EQ(cuStreamSynchronize(s), success);
        expect_crashes_only(blocked);
    }
}

// contract: L7
TEST_F(crash_signals, reach_the_thread_that_runs_destructors) {
    sigset_t blocked;
    sigfillset(&blocked);
    graph g = nullptr;
    graph_exec exec = nullptr;
    user_object object = nullptr;
    ASSERT_EQ(cuGraphCreate(&g, 0), success);
    ASSERT_EQ(cuUserObjectCreate(&object, &blocked, tell_mask, 1, user_object_no_destructor_sync),
              success);
    ASSERT_EQ(cuGraphRetainUserObject(g, object, 1, graph_user_object_move), success);
    ASSERT_EQ(cuGraphInstantiateWithFlags(&exec, g, 0), success);
    ASSERT_EQ(cuGraphLaunch(exec, make_stream()), success);
    ASSERT_EQ(cuGraphDestroy(g), success);
    ASSERT_EQ(cuGraphExecDestroy(exec), success);
    ASSERT_EQ(hostlaunch_embedded_wait_idle(patience_ms), 0);
    expect_crashes_only(blocked);
}

}  // namespace
}  // namespace hostlaunch::embedded::test
