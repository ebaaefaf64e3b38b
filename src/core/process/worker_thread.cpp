// SPDX-License-Identifier: Apache-2.0
// Names, timers, and the mark that tells a pool's threads from others.
#include "core/process/worker_thread.hpp"

#include <sys/prctl.h>
#include <time.h>

#include <cstdio>

namespace hostlaunch::core {
namespace {
// In the static block of thread-local storage, so that reading it calls nothing.
constinit __attribute__((tls_model("initial-exec"))) thread_local bool is_worker_thread = false;
}  // namespace

bool on_worker_thread() noexcept {
    return is_worker_thread;
}

void worker_thread::name(pthread_t thread, int number) noexcept {
    char text[16];
    std::snprintf(text, sizeof text, "hostlaunch-%d", number % 1000);
    pthread_setname_np(thread, text);
}

void worker_thread::enter() noexcept {
    is_worker_thread = true;
    prctl(PR_SET_TIMERSLACK, 1UL);
}

void worker_thread::nap(std::chrono::microseconds length) noexcept {
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(length);
    const timespec time{static_cast<time_t>(whole.count()),
                        static_cast<long>(std::chrono::nanoseconds(length - whole).count())};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
}

}  // namespace hostlaunch::core
