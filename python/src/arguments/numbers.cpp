// SPDX-License-Identifier: Apache-2.0
// Asks __index__ once, and reads the int that it gave.
#include "arguments/numbers.hpp"

namespace hostlaunch::python {

bool is_number(PyObject* object) noexcept {
    return PyLong_CheckExact(object) || (PyIndex_Check(object) != 0 && !PyBool_Check(object));
}

owned to_int(PyObject* object, const char* name) {
    if (!is_number(object)) {
        PyErr_Format(PyExc_TypeError, "%s must be an int, not %.200s", name,
                     Py_TYPE(object)->tp_name);
        return owned();
    }
    return owned(in_python([&] { return PyNumber_Index(object); }));
}

bool fits_unsigned(PyObject* number, unsigned long* value) noexcept {
    static_assert(sizeof *value == 8);
    *value = PyLong_AsUnsignedLong(number);
    if (*value != ~0ul || PyErr_Occurred() == nullptr) return true;
    PyErr_Clear();
    return false;
}

}  // namespace hostlaunch::python
