// SPDX-License-Identifier: Apache-2.0
// What is known of the first import lies in the interpreter's dictionary, which all copies see.
#include "import_once.hpp"

#include <nanobind/nanobind.h>

#include "arguments/errors.hpp"

namespace hostlaunch::python {
namespace {

constexpr const char* key = "hostlaunch._native";

// Its address tells this copy from others.
constinit struct {
    bool complete = false;  // natively, in this process
    bool finished = false;  // the whole package
} this_copy;

// What the interpreter knows: (address of a copy's own, its file, its module); borrowed.
PyObject* known() {
    PyObject* dictionary = PyInterpreterState_GetDict(PyInterpreterState_Get());
    PyObject* found = dictionary != nullptr ? PyDict_GetItemString(dictionary, key) : nullptr;
    return found != nullptr && PyTuple_Check(found) && PyTuple_GET_SIZE(found) == 3 ? found
                                                                                    : nullptr;
}

owned file_of(PyObject* module) {
    owned file(PyObject_GetAttrString(module, "__file__"));
    if (file) return file;
    PyErr_Clear();
    return owned(PyUnicode_FromString("an unknown file"));
}

bool is_ours(PyObject* entry) {
    return PyLong_AsVoidPtr(PyTuple_GET_ITEM(entry, 0)) == &this_copy;
}

bool refuse_copy(PyObject* first, PyObject* module) {
    const owned file = file_of(module);
    if (!file) return false;
    PyErr_Format(PyExc_ImportError,
                 "hostlaunch was loaded from %S before, and a process can have one copy of it: %S "
                 "cannot be imported. The first one goes on; look at sys.path for the second",
                 PyTuple_GET_ITEM(first, 1), file.get());
    return false;
}

}  // namespace

bool may_import(PyObject* module) {
    PyObject* entry = known();
    if (entry != nullptr && !is_ours(entry)) return refuse_copy(entry, module);
    if (!this_copy.complete || (entry != nullptr && !this_copy.finished)) return true;
    PyErr_SetString(PyExc_ImportError,
                    "hostlaunch was imported before in this process and cannot be imported anew: "
                    "its modules must stay in sys.modules");
    return false;
}

bool joins_first_import(PyObject* module) {
    PyObject* entry = known();
    if (entry == nullptr) return false;
    // What the import system has set is the new one's own.
    PyDict_Merge(PyModule_GetDict(module), PyModule_GetDict(PyTuple_GET_ITEM(entry, 2)), 0);
    if (PyErr_Occurred() != nullptr) throw nanobind::python_error();
    return true;
}

bool remember_import(PyObject* module) {
    const owned address(PyLong_FromVoidPtr(&this_copy));
    const owned file = file_of(module);
    if (!address || !file) return false;
    const owned entry(PyTuple_Pack(3, address.get(), file.get(), module));
    PyObject* dictionary = PyInterpreterState_GetDict(PyInterpreterState_Get());
    if (!entry || PyDict_SetItemString(dictionary, key, entry.get()) != 0) return false;
    this_copy.complete = true;
    return true;
}

void finish_import() {
    // The exceptions are those of the package that got to its end.
    if (!init_errors()) throw nanobind::python_error();
    this_copy.finished = true;
}

}  // namespace hostlaunch::python
