// SPDX-License-Identifier: Apache-2.0
// What a pool's thread is to the system: its name and its naps.
#pragma once

#include <pthread.h>

#include <chrono>

namespace hostlaunch::core {

// Whether the calling thread is a pool's. Driver objects that die there are destroyed elsewhere.
bool on_worker_thread() noexcept;

namespace worker_thread {

// Names a thread for debuggers. By whoever started it.
void name(pthread_t thread, int number) noexcept;

// First on the thread: lets its naps be short.
void enter() noexcept;

void nap(std::chrono::microseconds length) noexcept;

// A moment within a spinning wait.
inline void relax() noexcept {
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
}

}  // namespace worker_thread
}  // namespace hostlaunch::core
