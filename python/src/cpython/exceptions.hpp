// SPDX-License-Identifier: Apache-2.0
// The current exception, taken and set again; and objects as messages show them.
#pragma once

#include "cpython/python.hpp"

namespace hostlaunch::python {

// Takes the current exception, normalised and with its traceback; null if there is none.
PyObject* take_exception() noexcept;

// Sets an exception that take_exception returned; consumes the reference. Null is allowed.
void restore_exception(PyObject* exception) noexcept;

// The repr of an object for a message: where that raises, its type and address instead, so that the
// message is the one that was meant. Null only without memory.
owned shown(PyObject* object);

}  // namespace hostlaunch::python
