// SPDX-License-Identifier: Apache-2.0
// Stands in for sys.unraisablehook while the library runs finalizers.
#include "tasks/lost_interrupt.hpp"

namespace hostlaunch::python {
namespace {

PyObject* sys_names = nullptr;  // the dictionary of the module
PyObject* hook_name = nullptr;
PyObject* own_hook = nullptr;
PyObject* former_hook = nullptr;  // a reference, while ours stands in
thread_local bool watches = false;
thread_local bool noted = false;

bool is_interrupt(PyObject* unraisable) {
    const owned type(PyObject_GetAttrString(unraisable, "exc_type"));
    if (!type) PyErr_Clear();
    return type && PyErr_GivenExceptionMatches(type.get(), PyExc_KeyboardInterrupt) != 0;
}

// Any thread may come here meanwhile; what is not ours goes on to the hook that was set.
PyObject* note_or_pass_on(PyObject*, PyObject* unraisable) {
    if (watches && is_interrupt(unraisable)) {
        noted = true;
        Py_RETURN_NONE;
    }
    if (former_hook == nullptr) Py_RETURN_NONE;
    const owned hook(Py_NewRef(former_hook));
    return in_python([&] { return PyObject_CallOneArg(hook.get(), unraisable); });
}

PyMethodDef hook_definition = {"unraisablehook", &note_or_pass_on, METH_O, nullptr};

}  // namespace

void interrupt_catcher::install() noexcept {
    if (installed_ || former_hook != nullptr) return;
    PyObject* current = PyDict_GetItemWithError(sys_names, hook_name);
    if (current == nullptr) return PyErr_Clear();  // deleted by the program
    former_hook = Py_NewRef(current);
    if (PyDict_SetItem(sys_names, hook_name, own_hook) != 0) PyErr_Clear();
    installed_ = watches = true;
}

// A hook that a finalizer has set stays.
void interrupt_catcher::remove() noexcept {
    if (!installed_) return;
    installed_ = watches = false;
    PyObject* former = std::exchange(former_hook, nullptr);
    if (PyDict_GetItemWithError(sys_names, hook_name) == own_hook) {
        PyDict_SetItem(sys_names, hook_name, former);
    }
    PyErr_Clear();
    Py_DECREF(former);
}

bool interrupt_catcher::take() noexcept {
    const bool before = std::exchange(noted, false);
    return PyOS_InterruptOccurred() != 0 || before;
}

bool init_lost_interrupt() {
    if (own_hook != nullptr) return true;
    const owned sys(PyImport_ImportModule("sys"));
    if (!sys) return false;
    sys_names = Py_NewRef(PyModule_GetDict(sys.get()));
    hook_name = PyUnicode_InternFromString("unraisablehook");
    own_hook = PyCFunction_New(&hook_definition, nullptr);
    return hook_name != nullptr && own_hook != nullptr;
}

}  // namespace hostlaunch::python
