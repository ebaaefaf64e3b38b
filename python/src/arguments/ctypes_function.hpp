// SPDX-License-Identifier: Apache-2.0
// Recognising ctypes function pointers declared as CUhostFn, and the Python thunks among them.
#pragma once

#include "arguments/native_function.hpp"

namespace hostlaunch::python {

// 1 if the object is a ctypes function pointer of any signature, 0 if not, -1 with an exception
// set. Does not import ctypes: without it no such object exists.
int is_ctypes_function(PyObject* object);

// Requires the declaration in force to be CUhostFn: result None, arguments exactly (c_void_p,), and
// the prototype of a thunk as well. Returns false with TypeError or ValueError set. requires: the
// object is one.
bool check_ctypes_function(PyObject* function, native_function& out);

bool init_ctypes_function();

}  // namespace hostlaunch::python
