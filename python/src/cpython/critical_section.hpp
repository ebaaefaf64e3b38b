// SPDX-License-Identifier: Apache-2.0
// Exclusive use of an object's fields for a scope: a lock without a GIL, nothing with one. A header
// alone: a class of a few lines.
#pragma once

#include <Python.h>

namespace hostlaunch::python {

// requires: attached, and nothing inside runs Python code, which could suspend it.
class critical_section {
  public:
#ifdef Py_GIL_DISABLED
    explicit critical_section(PyObject* object) noexcept {
        PyCriticalSection_Begin(&section_, object);
    }
    ~critical_section() { PyCriticalSection_End(&section_); }
#else
    explicit critical_section(PyObject*) noexcept {}
#endif
    critical_section(const critical_section&) = delete;
    critical_section& operator=(const critical_section&) = delete;

#ifdef Py_GIL_DISABLED
  private:
    PyCriticalSection section_;
#endif
};

}  // namespace hostlaunch::python
