// SPDX-License-Identifier: Apache-2.0
// Checks what methods are given; each refusal says what was expected and what came.
#include "classes/values.hpp"

#include "arguments/errors.hpp"
#include "arguments/numbers.hpp"
#include "cpython/exceptions.hpp"

namespace nb = nanobind;

namespace hostlaunch::python {

nb::object int_of(nb::handle value, const char* name) {
    owned number = to_int(value.ptr(), name);
    if (!number) throw nb::python_error();
    return nb::steal(number.release());
}

void refuse_value(PyObject* type, const char* text, nb::handle value) {
    const owned what = shown(value.ptr());
    if (what) PyErr_Format(type, "%s, not %U", text, what.get());
    throw nb::python_error();
}

int int_argument(nb::handle value, const char* name) {
    const nb::object object = int_of(value, name);
    const long number = PyLong_AsLong(object.ptr());
    if (PyErr_Occurred() == nullptr && number == static_cast<int>(number)) {
        return static_cast<int>(number);
    }
    PyErr_Clear();
    const owned text = shown(object.ptr());
    if (text) PyErr_Format(PyExc_ValueError, "%s is out of range: %U", name, text.get());
    throw nb::python_error();
}

int device_argument(nb::handle device_id) {
    if (device_id.is_none()) return -1;
    const int device = int_argument(device_id, "device_id");
    if (device < 0) throw nb::value_error("device_id must not be negative");
    return device;
}

void require_str(nb::handle value, const char* name) {
    if (PyUnicode_Check(value.ptr())) return;
    PyErr_Format(PyExc_TypeError, "%s must be a str, not %.200s", name,
                 Py_TYPE(value.ptr())->tp_name);
    throw nb::python_error();
}

void refuse_instance(nb::handle object, nb::handle type, const char* argument) {
    const owned name(PyType_GetName(reinterpret_cast<PyTypeObject*>(type.ptr())));
    if (name && !PyObject_TypeCheck(object.ptr(), reinterpret_cast<PyTypeObject*>(type.ptr()))) {
        PyErr_Format(PyExc_TypeError, "%s must be a hostlaunch.%U, not %.200s", argument,
                     name.get(), Py_TYPE(object.ptr())->tp_name);
    } else if (name) {
        PyErr_Format(PyExc_TypeError,
                     "%s is an empty hostlaunch.%U: it was made by __new__ without __init__",
                     argument, name.get());
    }
    throw nb::python_error();
}

stream_argument stream_from(nb::handle object, const char* attempted, const stream_role& role) {
    stream_argument stream;
    stream.role = &role;
    if (!parse_stream(object.ptr(), stream)) throw nb::python_error();
    if (stream.builder != nullptr && !parse_builder_stream(object.ptr(), stream)) {
        throw nb::python_error();
    }
    if (!require_open(object.ptr(), stream, attempted)) throw nb::python_error();
    if (!enter_driver(attempted)) throw nb::python_error();
    return stream;
}

}  // namespace hostlaunch::python
