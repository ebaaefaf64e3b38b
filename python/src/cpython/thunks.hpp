// SPDX-License-Identifier: Apache-2.0
// What ctypes keeps alive for a function pointer, and the thunks of Python functions among it.
//
// A function pointer that was read out of a structure, union, array or pointer (its _b_base_) is a
// window on that memory: what keeps its code alive is in the _objects of the outermost object, and
// goes when another pointer is assigned there. Memory that ctypes did not write (from_address,
// from_buffer, memmove) keeps nothing, and neither does ctypes.cast of such a window.
#pragma once

#include <vector>

#include "cpython/python.hpp"

namespace hostlaunch::python {

// What was found behind a function pointer.
struct thunk_search {
    owned thunk;                   // null: the code is no thunk that ctypes keeps
    std::vector<owned> functions;  // function pointers to the same code on the way there
    std::vector<owned> kept;       // lists of what each object on the way keeps now
};

// Looks for the thunk with this code behind a ctypes function pointer; `function_class` is ctypes'
// CFuncPtr. False with an exception set. requires: attached. Runs no Python code.
bool find_thunk(PyObject* function, PyTypeObject* function_class, const void* code,
                thunk_search& out);

// Whether a function pointer lies in the memory of another object.
bool is_window(PyObject* function, PyTypeObject* function_class);

// All that was found as one object; null with an exception set.
owned all_kept(const thunk_search& found);

// The prototype that a thunk was made for, whatever was declared later. Borrowed from the thunk;
// null where it cannot be read.
struct thunk_prototype {
    PyObject* restype = nullptr;
    PyObject* argtypes = nullptr;
};
thunk_prototype prototype_of(PyObject* thunk) noexcept;

bool init_thunks();

}  // namespace hostlaunch::python
