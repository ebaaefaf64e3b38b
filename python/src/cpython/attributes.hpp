// SPDX-License-Identifier: Apache-2.0
// Looking up attributes, and what types have.
#pragma once

#include "cpython/python.hpp"

namespace hostlaunch::python {

// Names that more than one file looks up, interned at import and kept to process end.
inline constinit PyObject* name_callback = nullptr;
inline constinit PyObject* name_is_building = nullptr;
inline constinit PyObject* name_is_closed = nullptr;

// False with an exception set.
bool init_names();

// getattr that tells "missing" from "raised": 1 found, 0 missing (no exception set), -1 raised.
int find_attribute(PyObject* object, PyObject* name, owned& out);

// The truth of an attribute; a missing one is false. -1 with an exception set.
int truth_of(PyObject* object, PyObject* name);

// A module that was imported; null without an exception if it was not. Owned, since another thread
// may take it out of sys.modules.
owned imported_module(PyObject* name);

// Whether a type or its bases define a name; metatypes do not count. CPython caches the answers.
bool type_has(PyTypeObject* type, PyObject* name);

// Whether what instances of a type have is just what the type has: no dictionary, no hook. So are
// most classes of compiled code.
bool has_what_its_type_has(PyTypeObject* type);

// Calls a method without a bound method in between, where the type has it as a function. False if
// it has not, or without a GIL, where that cannot be asked so: then nothing was called.
bool call_method_of_type(PyObject* object, PyObject* name, owned& answer);

}  // namespace hostlaunch::python
