// SPDX-License-Identifier: Apache-2.0
// How a driver thread asks a busy main thread for the GIL.
//
// A thread that waits for the GIL gets it once its holder notices, which CPython makes take the
// whole switch interval (5 ms): the stream would stand still that long for each callback. A pending
// call that another thread adds interrupts the main thread at once from 3.13 on, and up to 3.12
// when it next takes the GIL, as an event loop does at every turn. So the waiting thread adds one
// whose body detaches until the waiter is in.
//
// It helps against the main thread only, and does nothing on builds without a GIL. In the child of
// a fork no callback ever runs; what it inherits costs one pause at most.
#pragma once

#include "cpython/python.hpp"

namespace hostlaunch::python {

#if !defined(Py_GIL_DISABLED)

// Around an attach of a driver thread. requires: inside the gate, since exit must not begin between
// the look at the interpreter and the pending call. Neither blocks.
void begin_wait_for_gil() noexcept;
void end_wait_for_gil() noexcept;

#else

inline void begin_wait_for_gil() noexcept {}
inline void end_wait_for_gil() noexcept {}

#endif

}  // namespace hostlaunch::python
