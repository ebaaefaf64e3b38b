// SPDX-License-Identifier: Apache-2.0
// The current exception, taken and set again.
#pragma once

#include <Python.h>

namespace hostlaunch::python {

// Takes the current exception, normalised and with its traceback; null if there is none.
PyObject* take_exception() noexcept;

// Sets an exception that take_exception returned; consumes the reference. Null is allowed.
void restore_exception(PyObject* exception) noexcept;

}  // namespace hostlaunch::python
