// SPDX-License-Identifier: Apache-2.0
// What a function is called in reports and traces (contract V2).
#pragma once

#include "core/task/names.hpp"
#include "cpython/python.hpp"

namespace hostlaunch::python {

// The name given by hostlaunch.named; module.qualname of a function, with file and line for a
// lambda; a bound method or functools.partial after what it wraps; a ctypes function pointer after
// its symbol; another object after its type. Runs no Python code. Cheap when asked again for
// functions of the same definition. `code` is that of a function pointer, else null. requires:
// attached. Sets no exception.
core::name_id name_of_function(PyObject* fn, const void* code) noexcept;

// Looks up what is needed, once at import. False with an exception set.
bool init_names_of_functions();

}  // namespace hostlaunch::python
