// SPDX-License-Identifier: Apache-2.0
// Release on the main thread: by a pending call, by API entries, at exit.
#pragma once

#include "python.hpp"

namespace hostlaunch::python {

// True on the interpreter's main thread. Any thread, attached or not.
bool on_main_thread() noexcept;

// Releases what has ended. requires: attached. Does nothing off the main thread or with nothing to
// release. Runs finalizers of users; saves and restores the current exception.
void release_ended() noexcept;

// Reads the main thread's identity and sets the hooks. Called once at import; false with an
// exception set if it failed.
bool init_release();

// For the child of a fork.
void forget_release() noexcept;

}  // namespace hostlaunch::python
