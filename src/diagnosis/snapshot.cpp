// SPDX-License-Identifier: Apache-2.0
// The copy, and the wait for it.
#include "diagnosis/snapshot.hpp"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace hostlaunch::diagnosis {
namespace {

// A crash here ends the copy at once: no report of somebody's handler, no core file.
void take_crashes_quietly() noexcept {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_DUMPABLE, 0);
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    struct sigaction usual{};
    usual.sa_handler = SIG_DFL;
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT})
        sigaction(fault, &usual, nullptr);
}

snapshot_end wait_for(pid_t child, std::chrono::milliseconds limit) noexcept {
    const timespec pause{0, 2'000'000};
    int status = 0;
    for (auto left = limit; left.count() > 0; left -= std::chrono::milliseconds(2)) {
        const pid_t ended = waitpid(child, &status, WNOHANG | __WALL);
        if (ended == child) {
            return WIFEXITED(status) ? snapshot_end::told : snapshot_end::crashed;
        }
        if (ended < 0 && errno != EINTR) return snapshot_end::told;  // somebody else reaped it
        nanosleep(&pause, nullptr);
    }
    kill(child, SIGKILL);
    while (waitpid(child, &status, __WALL) < 0 && errno == EINTR) {
    }
    return snapshot_end::took_too_long;
}

}  // namespace

snapshot_end in_snapshot(void (*tell)(int file), int file,
                         std::chrono::milliseconds limit) noexcept {
    // No signal in the low byte: the program is not told of this child.
    const long child = syscall(SYS_clone, 0UL, nullptr, nullptr, nullptr, 0UL);
    if (child < 0) return snapshot_end::no_copy;
    if (child == 0) {
        take_crashes_quietly();
        tell(file);
        syscall(SYS_exit_group, 0);
    }
    return wait_for(static_cast<pid_t>(child), limit);
}

}  // namespace hostlaunch::diagnosis
