// SPDX-License-Identifier: Apache-2.0
// Python.h and the few C-API helpers that several files share, most of which differ between the
// supported versions (3.11 and later).
#pragma once

#include <Python.h>
#include <cxxabi.h>

#include <string>
#include <utility>

#include "core/gate.hpp"

namespace hostlaunch::python {

// An owned reference. Used only on threads that are attached, and never across code that may end
// the thread by forced unwinding.
class owned {
  public:
    owned() noexcept = default;
    explicit owned(PyObject* reference) noexcept : object_(reference) {}
    owned(owned&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    owned& operator=(owned&& other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~owned() { Py_XDECREF(object_); }

    PyObject* get() const noexcept { return object_; }
    PyObject* release() noexcept { return std::exchange(object_, nullptr); }
    explicit operator bool() const noexcept { return object_ != nullptr; }

  private:
    PyObject* object_ = nullptr;
};

// Text that may have a path in it, which need not be UTF-8: as os.fsdecode reads it.
inline owned decoded(const std::string& text) {
    return owned(
        PyUnicode_DecodeFSDefaultAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}

// A new reference to be dropped on another thread. Without a GIL the thread that made an object
// destroys it, when it next gets to that, unless it has given its own references up: then whoever
// drops the last one does. So this one counts as a reference of another thread from the start.
inline PyObject* reference_for_others(PyObject* object) noexcept {
#ifdef Py_GIL_DISABLED
    if (_Py_IsImmortal(object)) return object;
    // What Py_INCREF does on a thread that does not own the object.
    __atomic_fetch_add(&object->ob_ref_shared, Py_ssize_t{1} << _Py_REF_SHARED_SHIFT,
                       __ATOMIC_RELAXED);
    return object;
#else
    return Py_NewRef(object);
#endif
}

// Makes an owned reference one that is dropped on another thread. Null is allowed.
inline PyObject* hand_over(PyObject* owned_here) noexcept {
#ifdef Py_GIL_DISABLED
    if (owned_here == nullptr) return nullptr;
    reference_for_others(owned_here);
    Py_DECREF(owned_here);
#endif
    return owned_here;
}

// Runs f, which may run Python code of users. A daemon thread that CPython ends there by forced
// unwinding parks: the frames above hold references that it may not drop.
template <class F>
auto in_python(F&& f) {
    try {
        return f();
    } catch (::abi::__forced_unwind&) {
        core::park();
    }
}

// getattr that tells "missing" from "raised": 1 found, 0 missing (no exception set), -1 raised.
inline int find_attribute(PyObject* object, PyObject* name, owned& out) {
    PyObject* value = nullptr;
#if PY_VERSION_HEX >= 0x030D0000
    const int found = in_python([&] { return PyObject_GetOptionalAttr(object, name, &value); });
#else
    const int found = in_python([&] { return _PyObject_LookupAttr(object, name, &value); });
#endif
    out = owned(value);
    return found;
}

// The truth of an attribute; a missing one is false. -1 with an exception set.
inline int truth_of(PyObject* object, PyObject* name) {
    owned value;
    const int found = find_attribute(object, name, value);
    return found > 0 ? in_python([&] { return PyObject_IsTrue(value.get()); }) : found;
}

// Names that more than one file looks up, interned at import and kept to process end.
inline constinit PyObject* name_callback = nullptr;
inline constinit PyObject* name_is_building = nullptr;
inline constinit PyObject* name_is_closed = nullptr;

// False with an exception set.
inline bool init_names() {
    name_callback = PyUnicode_InternFromString("callback");
    name_is_building = PyUnicode_InternFromString("is_building");
    name_is_closed = PyUnicode_InternFromString("is_closed");
    return PyErr_Occurred() == nullptr;
}

// A module that was imported; null without an exception if it was not. Owned, since another thread
// may take it out of sys.modules.
inline owned imported_module(PyObject* name) {
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

// Whether a type or its bases define a name; metatypes do not count. CPython caches the answers.
inline bool type_has(PyTypeObject* type, PyObject* name) {
#ifdef Py_GIL_DISABLED
    const owned found(_PyType_LookupRef(type, name));
    return static_cast<bool>(found);
#else
    return _PyType_Lookup(type, name) != nullptr;
#endif
}

// Whether what instances of a type have is just what the type has: no dictionary, no hook. So are
// most classes of compiled code.
inline bool has_what_its_type_has(PyTypeObject* type) {
    return type->tp_getattro == PyObject_GenericGetAttr && type->tp_dictoffset == 0 &&
           PyType_HasFeature(type, Py_TPFLAGS_MANAGED_DICT) == 0;
}

// Takes the current exception, normalised and with its traceback; null if there is none.
inline PyObject* take_exception() noexcept {
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

// Sets an exception that take_exception returned; consumes the reference. Null is allowed.
inline void restore_exception(PyObject* exception) noexcept {
    if (exception == nullptr) return;
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(exception);
#else
    PyErr_Restore(Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(exception))), exception,
                  PyException_GetTraceback(exception));
#endif
}

// Attaches again. A daemon thread that comes back while the interpreter ends is given up by
// CPython, up to 3.13.7 by forced unwinding: it must not pass the frames above, so the thread parks
// here.
inline void attach_again(PyThreadState* state) {
    try {
        PyEval_RestoreThread(state);
    } catch (::abi::__forced_unwind&) {
        core::park();
    }
}

// Calls f() detached from the interpreter and returns what it returns, or throws what it throws.
template <class F>
auto without_gil(F&& f) {
    PyThreadState* state = PyEval_SaveThread();
    try {
        auto value = f();
        attach_again(state);
        return value;
    } catch (...) {
        attach_again(state);
        throw;
    }
}

}  // namespace hostlaunch::python
