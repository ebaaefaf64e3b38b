// SPDX-License-Identifier: Apache-2.0
// How a driver thread gets into the interpreter and out again.
//
// A driver thread keeps one thread state, made at its first callback and detached in between. Every
// attach happens inside the gate, which interpreter exit closes: while the gate counts a thread,
// the interpreter does not begin to end, unless the wait at exit ran out. Then CPython ends the
// thread at its next attach: up to 3.13.7 by forced unwinding, which must meet no noexcept frame
// and no handler that returns; later versions hang it. Both park the thread. Thunks that are not
// recognised pass no gate, and enter by CPython's own way, which crashes in an ending interpreter:
// exit waits for them, pending ones included.
#pragma once

#include "core/process/gate.hpp"
#include "cpython/python.hpp"

namespace hostlaunch::python {

using core::gate;
using core::park;

// What one attach did, for the detach.
struct attachment {
    PyGILState_STATE nested = PyGILState_UNLOCKED;
    PyObject* entered = nullptr;  // the context of a thread that had a state of its own
    bool kept = false;
};

// Attaches the calling thread with an empty context. requires: inside the gate. May never return.
attachment attach();

// Detaches. requires: attached by the same attachment.
void detach(const attachment& a);

// After a callback: if it left context variables behind, installs a fresh context and returns the
// old one (a new reference, for release on the main thread), else null. requires: attached.
PyObject* take_dirty_context(attachment& a);

// Up to 3.12 a main thread that only computes sees a pending call that a thread without the GIL has
// queued when it next gives up the GIL: it is made to. Waits for the GIL; on later versions it does
// nothing. Does nothing either once exit has closed the gate.
void make_main_look() noexcept;

// Prepares the thread-exit handler. Called once at import.
void init_attach();

}  // namespace hostlaunch::python
