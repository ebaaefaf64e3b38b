// SPDX-License-Identifier: Apache-2.0
// From futures that end on any thread to the tasks of asyncio that await them.
//
// Each event loop has one hub: an eventfd that the loop reads, and a list of awaiters whose future
// has ended. Who ends futures puts their awaiters on the list and writes once; the loop wakes them
// all in one go. The loop's reader owns the hub, so that it lives as long as the loop can wake
// anybody; a loop that is closed is told nothing more.
#pragma once

#include "cpython/python.hpp"

namespace hostlaunch::python {

// The iterator behind `await future`: a new reference, or null with an exception set.
PyObject* new_awaiter(PyObject* future) noexcept;

// Tells the awaiter, or the list of awaiters, of a future that has ended. requires: attached.
void wake_awaiting(PyObject* awaiting) noexcept;

// For its lifetime what this thread ends wakes no loop; at its end each loop is woken once. A
// batch is complete before any loop thread asks for the GIL. requires: attached at its end.
class wake_together {
  public:
    wake_together() noexcept;
    ~wake_together();
    wake_together(const wake_together&) = delete;
    wake_together& operator=(const wake_together&) = delete;

  private:
    bool outermost_;
};

// Makes the types, once at import. False with an exception set.
bool init_asyncio_bridge();

}  // namespace hostlaunch::python
