// SPDX-License-Identifier: Apache-2.0
// Functions that hostlaunch.named has given a name (contract V2).
#pragma once

#include "cpython/python.hpp"

namespace hostlaunch::python {

bool is_named(PyObject* fn) noexcept;

// What it names, and the name; null with an exception set. requires: is_named.
owned function_of_named(PyObject* fn);
owned name_of_named(PyObject* fn);

// Tells the type, once, when the package is imported.
void set_named_type(PyObject* type) noexcept;

}  // namespace hostlaunch::python
