// SPDX-License-Identifier: Apache-2.0
// What happens when the interpreter exits, and in the child of a fork.
#pragma once

#include "cpython/python.hpp"

namespace hostlaunch::python {

// Registers the exit and fork handlers. Called once at import; false with an exception set.
bool init_exit(PyObject* module);

}  // namespace hostlaunch::python
