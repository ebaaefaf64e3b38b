// SPDX-License-Identifier: Apache-2.0
// Recognising ctypes function pointers declared as CUhostFn, and the Python thunks among them.
#pragma once

#include "driver/abi.hpp"
#include "python.hpp"

namespace hostlaunch::python {

// 1 if the object is a ctypes function pointer of any signature, 0 if not, -1 with an exception
// set. Does not import ctypes: without it no such object exists.
int is_ctypes_function(PyObject* object);

// Requires the declaration in force to be CUhostFn: result None, arguments exactly (c_void_p,).
// Tells its code address and whether it wraps a Python function, as well as ctypes lets one see.
// Returns false with TypeError or ValueError set.
bool check_ctypes_function(PyObject* function, abi::host_fn* code, bool* wraps_python);

bool init_ctypes_function();

}  // namespace hostlaunch::python
