// SPDX-License-Identifier: Apache-2.0
// What a future consists of, and how it ends.
//
// Who protects what: `state` is read by anybody; it and the fields are written in a critical
// section of the future, and once there is a condition also inside that, as the functions of
// concurrent.futures expect. `outcome` does not change after the end.
#pragma once

#include <atomic>

#include "core/task/record.hpp"
#include "cpython/python.hpp"

namespace hostlaunch::python {

enum class future_state : unsigned char { pending, running, cancelled, finished };

// Behind the fields of the base class. The references are members of the type, which CPython
// visits, clears and drops as it does those of __slots__: a class written in Python leaves no room
// for a traversal or a deallocator of one's own.
struct future_fields {
    PyObject* outcome;    // the result, or the exception
    PyObject* condition;  // a threading.Condition, made for who waits
    PyObject* waiters;    // the list that concurrent.futures.wait and as_completed append to
    PyObject* callbacks;  // a list
    PyObject* awaiting;   // an awaiter (asyncio_bridge.hpp), or a list of them
    core::token task;     // what cancel() takes back; 0: nothing
    std::atomic<future_state> state;
    bool raised;  // outcome is an exception
};

inline constinit Py_ssize_t future_fields_offset = 0;  // written at import

inline future_fields& fields_of(PyObject* future) noexcept {
    return *reinterpret_cast<future_fields*>(reinterpret_cast<char*>(future) +
                                             future_fields_offset);
}

inline bool is_over(future_state s) noexcept {
    return s == future_state::cancelled || s == future_state::finished;
}

// The state as users see it: in the child of a fork what was pending has been cancelled.
future_state state_of_future(PyObject* future) noexcept;

// Moves a pending or running future to its end and tells who waits; false if it has ended. Steals
// `outcome`. An exception that a callback lets through, which is none of class Exception, is set
// when it returns.
bool end_future(PyObject* future, future_state end, PyObject* outcome, bool raised) noexcept;

// The condition of a future, made if there is none: a new reference, or null with an exception.
PyObject* condition_of_future(PyObject* future) noexcept;

// Calls callback(future); what it raises is logged as concurrent.futures does, unless it is no
// Exception: then false, and it stays set.
bool call_back(PyObject* future, PyObject* callback) noexcept;

bool init_future_state();

}  // namespace hostlaunch::python
