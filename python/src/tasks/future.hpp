// SPDX-License-Identifier: Apache-2.0
// The Future of a task: a concurrent.futures.Future that can be awaited, at a third of its memory.
//
// It is pending, may be running, and ends once: with a result, with an exception, or cancelled.
// Whoever ends it does so attached, on any thread: a pool's for what ran or whose context failed,
// the caller of cancel(), the main thread at exit. What the standard library's functions take a
// condition for needs one only while somebody waits, so it is made then.
#pragma once

#include "core/task/record.hpp"
#include "cpython/python.hpp"

namespace hostlaunch::python {

// A new reference to a pending future, or null with an exception set.
PyObject* new_future() noexcept;

// Says which task the future stands for: what cancel() takes back. Before others see the future.
void set_task_of_future(PyObject* future, core::token task) noexcept;

// Marks a pending future as running.
void start_future(PyObject* future) noexcept;

// Ends a future; one that has ended stays as it is. Both steal their second argument. Callbacks run
// inside, and tasks of asyncio that wait are told, once the outermost wake_together ends if there
// is one. requires: attached, no exception set. None is set afterwards.
void finish_future(PyObject* future, PyObject* result) noexcept;
void fail_future(PyObject* future, PyObject* exception) noexcept;
void cancel_future(PyObject* future) noexcept;

// As cancel_future, for a caller of cancel(): what a callback let through stays set.
void end_future_as_cancelled(PyObject* future) noexcept;

// Makes the type: before the import of the module, since it imports others. May be repeated, as all
// that an interrupted import repeats. False with an exception set.
bool init_future();

// Adds the type to the module. False with an exception set.
bool add_future(PyObject* module);

}  // namespace hostlaunch::python
