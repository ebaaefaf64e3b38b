// SPDX-License-Identifier: Apache-2.0
// What a record carries for a future, and what a pool's thread does with it.
#pragma once

#include <new>

#include "core/task/record.hpp"
#include "cpython/python.hpp"
#include "hostlaunch/detail/signal_type.hpp"

namespace hostlaunch::python {

struct future_task {
    PyObject* future = nullptr;
    PyObject* fn = nullptr;       // null: nothing is called
    PyObject* args = nullptr;     // a tuple; without a function the result
    PyObject* kwargs = nullptr;   // a dictionary, or null
    PyObject* outcome = nullptr;  // on its way to the future: what fn returned, or an exception
    PyObject* context = nullptr;  // the context that the call left variables in
};
static_assert(sizeof(future_task) <= sizeof(core::record::payload));

extern const hostlaunch::detail::signal_type call_for_future;   // calls fn
extern const hostlaunch::detail::signal_type event_for_future;  // calls nothing

// Takes a task back that has not started and ends its future as cancelled; false if it has started
// or ended. What it held is released at once on the main thread, else soon. An exception that a
// callback let through is set afterwards.
bool cancel_task(core::token task) noexcept;

}  // namespace hostlaunch::python
