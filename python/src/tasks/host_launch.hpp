// SPDX-License-Identifier: Apache-2.0
// The Python function host_launch, written against the C API.
#pragma once

#include "cpython/python.hpp"

namespace hostlaunch::python {

// Adds host_launch to the module. False with an exception set.
bool add_host_launch(PyObject* module);

}  // namespace hostlaunch::python
