// SPDX-License-Identifier: Apache-2.0
// The calls for it have changed their names, and who owns what they give, from version to version.
#include "cpython/attributes.hpp"

namespace hostlaunch::python {

bool init_names() {
    name_callback = PyUnicode_InternFromString("callback");
    name_is_building = PyUnicode_InternFromString("is_building");
    name_is_closed = PyUnicode_InternFromString("is_closed");
    return PyErr_Occurred() == nullptr;
}

int find_attribute(PyObject* object, PyObject* name, owned& out) {
    PyObject* value = nullptr;
#if PY_VERSION_HEX >= 0x030D0000
    const int found = in_python([&] { return PyObject_GetOptionalAttr(object, name, &value); });
#else
    const int found = in_python([&] { return _PyObject_LookupAttr(object, name, &value); });
#endif
    out = owned(value);
    return found;
}

int truth_of(PyObject* object, PyObject* name) {
    owned value;
    const int found = find_attribute(object, name, value);
    return found > 0 ? in_python([&] { return PyObject_IsTrue(value.get()); }) : found;
}

owned imported_module(PyObject* name) {
    PyObject* modules = PyImport_GetModuleDict();
#if PY_VERSION_HEX >= 0x030D0000
    PyObject* module = nullptr;
    if (PyDict_GetItemRef(modules, name, &module) < 0) PyErr_Clear();
    return owned(module);
#else
    PyObject* module = Py_XNewRef(PyDict_GetItemWithError(modules, name));
    if (module == nullptr) PyErr_Clear();
    return owned(module);
#endif
}

bool type_has(PyTypeObject* type, PyObject* name) {
#ifdef Py_GIL_DISABLED
    const owned found(_PyType_LookupRef(type, name));
    return static_cast<bool>(found);
#else
    return _PyType_Lookup(type, name) != nullptr;
#endif
}

bool has_what_its_type_has(PyTypeObject* type) {
    return type->tp_getattro == PyObject_GenericGetAttr && type->tp_dictoffset == 0 &&
           PyType_HasFeature(type, Py_TPFLAGS_MANAGED_DICT) == 0;
}

bool call_method_of_type(PyObject* object, PyObject* name, owned& answer) {
#ifndef Py_GIL_DISABLED
    PyObject* plain = _PyType_Lookup(Py_TYPE(object), name);
    if (plain == nullptr || !PyType_HasFeature(Py_TYPE(plain), Py_TPFLAGS_METHOD_DESCRIPTOR)) {
        return false;
    }
    PyObject* stack[] = {object};
    if (has_what_its_type_has(Py_TYPE(object))) {
        const owned held(Py_NewRef(plain));
        answer = owned(in_python([&] { return PyObject_Vectorcall(plain, stack, 1, nullptr); }));
    } else {
        answer =
            owned(in_python([&] { return PyObject_VectorcallMethod(name, stack, 1, nullptr); }));
    }
    return true;
#else
    (void)object, (void)name, (void)answer;
    return false;
#endif
}

}  // namespace hostlaunch::python
