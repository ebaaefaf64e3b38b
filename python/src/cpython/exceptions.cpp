// SPDX-License-Identifier: Apache-2.0
// From 3.12 on an exception is one object.
#include "cpython/exceptions.hpp"

namespace hostlaunch::python {

PyObject* take_exception() noexcept {
#if PY_VERSION_HEX >= 0x030C0000
    return PyErr_GetRaisedException();
#else
    PyObject* type = nullptr;
    PyObject* value = nullptr;
    PyObject* traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    if (type == nullptr) return nullptr;
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback != nullptr) PyException_SetTraceback(value, traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return value;
#endif
}

void restore_exception(PyObject* exception) noexcept {
    if (exception == nullptr) return;
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(exception);
#else
    PyErr_Restore(Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(exception))), exception,
                  PyException_GetTraceback(exception));
#endif
}

owned shown(PyObject* object) {
    PyObject* text = in_python([&] { return PyObject_Repr(object); });
    if (text != nullptr) return owned(text);
    PyErr_Clear();
    return owned(PyUnicode_FromFormat("<%.200s object at %p>", Py_TYPE(object)->tp_name, object));
}

}  // namespace hostlaunch::python
