// SPDX-License-Identifier: Apache-2.0
// Lets inspect.signature read functions of the extension.
#pragma once

#include "cpython/python.hpp"

namespace hostlaunch::python {

// Gives the type of an object, which cannot be changed from Python, the property __signature__ with
// this getter. The types are this extension's own: nanobind makes them for its domain. False with
// an exception set.
bool add_signature_property(PyObject* object, PyObject* getter);

}  // namespace hostlaunch::python
