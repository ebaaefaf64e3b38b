// SPDX-License-Identifier: Apache-2.0
// Threads of the library's own: how they are started.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace hostlaunch::core {

// All signals but those that a thread raises by what it does itself: where one of these is blocked,
// the kernel ends the process without asking faulthandler, a sanitizer or a crash handler
// (contract L7).
sigset_t signals_sent_by_others() noexcept;

// Starts `body(argument)`; false if there is no thread to be had. Allocates nothing of its own.
//
// No signal that is sent to the process interrupts the thread: Ctrl-C and the like belong to the
// threads of the program. A crash in a user's destructor, which runs here, is reported as anywhere.
bool start_thread(pthread_t* out, void* (*body)(void*), void* argument) noexcept;

// Waits until the thread has ended and is joined: no instruction of it is left to run. False after
// `milliseconds`.
bool join_thread(pthread_t thread, long milliseconds) noexcept;

}  // namespace hostlaunch::core
