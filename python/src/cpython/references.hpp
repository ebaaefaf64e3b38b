// SPDX-License-Identifier: Apache-2.0
// References that one thread takes and another one drops. A header alone: all of it is on the way
// of a launch.
#pragma once

#include "cpython/python.hpp"

namespace hostlaunch::python {

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
inline PyObject* share_reference(PyObject* owned_here) noexcept {
#ifdef Py_GIL_DISABLED
    if (owned_here == nullptr) return nullptr;
    reference_for_others(owned_here);
    Py_DECREF(owned_here);
#endif
    return owned_here;
}

}  // namespace hostlaunch::python
