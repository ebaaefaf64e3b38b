// SPDX-License-Identifier: Apache-2.0
// Release on the main thread: by a pending call, by API entries, at exit.
#pragma once

#include "cpython/python.hpp"

namespace hostlaunch::python {

// Releases what has ended, within the budget of contract L6. requires: attached. Does nothing off
// the main thread, while that rests from releasing, or with nothing to release. Runs finalizers of
// users; saves and restores the current exception. A Ctrl-C ends it and is raised behind it.
void release_ended() noexcept;

// The same for waits, without budget or rest.
void release_all_ended() noexcept;

// The same on any thread, for exit: an embedding application may end the interpreter on another
// thread than CPython's main one, and nobody comes after it. Finalizers may push more; nothing new
// can start, so it ends. False if a Ctrl-C ended it, which has thus had its effect.
bool release_at_exit() noexcept;

// For a wait of the main thread that is followed by release_all_ended: what ends meanwhile needs no
// pending call, which could not run before. On other threads it does nothing. requires: attached.
class release_follows {
  public:
    release_follows() noexcept;
    ~release_follows();
    release_follows(const release_follows&) = delete;
    release_follows& operator=(const release_follows&) = delete;

  private:
    bool promised_;
};

// Asks for a release of what has ended, where one was promised and cannot follow.
void ask_for_release() noexcept;

// Sets the hook. Called once at import.
void init_release();

// For the child of a fork.
void forget_release() noexcept;

}  // namespace hostlaunch::python
