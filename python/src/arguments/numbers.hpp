// SPDX-License-Identifier: Apache-2.0
// What stands for an int: anything with __index__, but bool (contract U2).
#pragma once

#include "cpython/python.hpp"

namespace hostlaunch::python {

// Whether an object stands for an int. Its __index__ may still raise.
bool is_number(PyObject* object) noexcept;

// The int that a number stands for; null with an exception set, which __index__ raised or which
// says that `object` is no number: "NAME must be an int, not TYPE".
owned to_int(PyObject* object, const char* name);

// Reads an int that must fit 64 bits without a sign. False, without an exception, if it does not.
bool fits_unsigned(PyObject* number, unsigned long* value) noexcept;

}  // namespace hostlaunch::python
