// SPDX-License-Identifier: Apache-2.0
// Function pointers of other makers than ctypes: contract F4.
#pragma once

#include "arguments/native_function.hpp"

namespace hostlaunch::python {

// Recognises function pointers of cffi, numba's @cfunc objects and capsules named after their
// signature, and requires that to be CUhostFn's. 1: it is one; 0: it is none; -1: it is one of
// another signature, with TypeError set, or its maker raised. Imports nothing.
int check_foreign_function(PyObject* fn, native_function& out);

bool init_foreign_function();

}  // namespace hostlaunch::python
