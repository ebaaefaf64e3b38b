// SPDX-License-Identifier: Apache-2.0
// What is asked before a binding library sees that a module is imported.
#pragma once

#include <Python.h>

namespace hostlaunch::python {

// Puts `check` in front of what a module's definition executes. CPython may run PyInit_ in the main
// interpreter for the sake of another one (from 3.13 on), so only what it executes afterwards is
// sure to run where the import is. `check` returns -1 with an exception set to refuse. `definition`
// is what a PyInit_ returned, null included; called once for each.
PyObject* check_first(PyObject* definition, int (*check)(PyObject* module)) noexcept;

}  // namespace hostlaunch::python
