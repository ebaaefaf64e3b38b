// SPDX-License-Identifier: Apache-2.0
// A type that is marked as immutable takes no attribute, so it is not marked meanwhile. At import,
// before any other thread knows it.
#include "cpython/signatures.hpp"

namespace hostlaunch::python {

bool add_signature_property(PyObject* object, PyObject* getter) {
    PyTypeObject* type = Py_TYPE(object);
    const owned property(
        PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyProperty_Type), getter));
    if (!property) return false;
    const unsigned long mark = type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE;
    type->tp_flags &= ~mark;
    const int failed =
        PyObject_SetAttrString(reinterpret_cast<PyObject*>(type), "__signature__", property.get());
    type->tp_flags |= mark;
    return failed == 0;
}

}  // namespace hostlaunch::python
