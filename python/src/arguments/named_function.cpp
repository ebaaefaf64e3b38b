// SPDX-License-Identifier: Apache-2.0
// Objects of one class of the package, written in Python.
#include "arguments/named_function.hpp"

namespace hostlaunch::python {
namespace {

PyTypeObject* named_type = nullptr;

}  // namespace

bool is_named(PyObject* fn) noexcept {
    return Py_TYPE(fn) == named_type;
}

owned function_of_named(PyObject* fn) {
    return owned(PyObject_GetAttrString(fn, "_fn"));
}

owned name_of_named(PyObject* fn) {
    return owned(PyObject_GetAttrString(fn, "_name"));
}

void set_named_type(PyObject* type) noexcept {
    named_type = reinterpret_cast<PyTypeObject*>(Py_NewRef(type));
}

}  // namespace hostlaunch::python
