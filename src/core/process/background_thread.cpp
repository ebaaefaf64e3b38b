// SPDX-License-Identifier: Apache-2.0
// Signal masks and joins of the library's own threads.
#include "core/process/background_thread.hpp"

#include <time.h>

#include <initializer_list>

namespace hostlaunch::core {

sigset_t signals_sent_by_others() noexcept {
    sigset_t others;
    sigfillset(&others);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) {
        sigdelset(&others, own);
    }
    return others;
}

bool start_thread(pthread_t* out, void* (*body)(void*), void* argument) noexcept {
    const sigset_t blocked = signals_sent_by_others();
    sigset_t former;
    pthread_sigmask(SIG_SETMASK, &blocked, &former);
    const int failed = pthread_create(out, nullptr, body, argument);
    pthread_sigmask(SIG_SETMASK, &former, nullptr);
    return failed == 0;
}

bool join_thread(pthread_t thread, long milliseconds) noexcept {
    timespec at{};
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec += milliseconds / 1000;
    at.tv_nsec += milliseconds % 1000 * 1'000'000;
    if (at.tv_nsec >= 1'000'000'000) {
        at.tv_nsec -= 1'000'000'000;
        ++at.tv_sec;
    }
    return pthread_timedjoin_np(thread, nullptr, &at) == 0;
}

}  // namespace hostlaunch::core
