// SPDX-License-Identifier: Apache-2.0
// submit(stream, fn, /, *args, **kwargs) and work_done(stream).
#pragma once

#include "cpython/python.hpp"

namespace hostlaunch::python {

// Adds both functions to the module. False with an exception set.
bool add_submit(PyObject* module);

}  // namespace hostlaunch::python
