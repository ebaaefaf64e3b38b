// SPDX-License-Identifier: Apache-2.0
// Finding the core object inside a Python object of ours.
//
// A header alone: the classes lie above, and tell here at import where their objects keep it.
#pragma once

#include "core/graphs/graph_builder.hpp"
#include "core/objects/stream.hpp"
#include "cpython/python.hpp"

namespace hostlaunch::python {

template <class Object>
struct own_class {
    PyTypeObject* type = nullptr;
    Object* (*inside)(PyObject*) noexcept = nullptr;

    // Null (no exception set) for any other object and for one whose __init__ has not run.
    Object* find(PyObject* object) const noexcept {
        return PyObject_TypeCheck(object, type) ? inside(object) : nullptr;
    }
};

inline constinit own_class<core::stream> own_streams;
inline constinit own_class<core::graph_builder> own_builders;

}  // namespace hostlaunch::python
