// SPDX-License-Identifier: Apache-2.0
// One copy of the package in a process, imported once, and tried again after an interrupted import.
//
// Classes, release list and exit handler belong to the first module object. An import that fails
// behind the native part (a Ctrl-C anywhere in the package) takes that object out of sys.modules:
// the next import makes another one, which joins the first.
#pragma once

#include "cpython/python.hpp"

namespace hostlaunch::python {

// False with ImportError set if the interpreter has loaded another copy of this extension, or if
// the whole package was imported before and its modules are gone from sys.modules.
bool may_import(PyObject* module);

// Gives the module what the first one has. False if this is the first one.
bool joins_first_import(PyObject* module);

// The native part is complete. False with an exception set.
bool remember_import(PyObject* module);

// So is the package.
void finish_import();

}  // namespace hostlaunch::python
