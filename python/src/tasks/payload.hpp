// SPDX-License-Identifier: Apache-2.0
// What a record carries for Python: the references and memory of one launch.
//
// Filled on the launching thread, used on the driver's thread, released on the main thread. Nobody
// touches a reference count without being attached.
#pragma once

#include <new>

#include "arguments/function_argument.hpp"
#include "core/record.hpp"
#include "cpython/python.hpp"

namespace hostlaunch::python {

struct payload {
    PyObject* fn = nullptr;         // the callable, or what keeps compiled code alive
    PyObject* result = nullptr;     // what the callable returned, unless None
    PyObject* exception = nullptr;  // what it raised
    PyObject* context = nullptr;    // the context that it left variables in
    abi::host_fn code = nullptr;    // of a ctypes function pointer
    void* user_data = nullptr;      // what the code is called with
    void* copy = nullptr;           // owned memory behind user_data, or null
};
static_assert(sizeof(payload) <= sizeof(core::record::payload));

inline payload& payload_of(core::record& r) noexcept {
    return *std::launder(reinterpret_cast<payload*>(r.payload));
}

// The host functions that gated launches hand to the driver; user_data is a record's token.
extern "C" void hostlaunch_python_call(void* token);   // calls a Python callable
extern "C" void hostlaunch_python_thunk(void* token);  // calls a ctypes thunk that wraps Python
extern "C" void hostlaunch_python_graph_call(void* token);  // the same for nodes of graphs
extern "C" void hostlaunch_python_graph_thunk(void* token);
// Calls code of which nobody knows whether it is Python in disguise: detached, but within the gate,
// so that exit waits for it and none starts later.
extern "C" void hostlaunch_python_graph_code(void* token);

// Fills a record with a new reference to fn and what was checked; takes the copy over.
payload& fill_payload(core::record& r, PyObject* fn, function_argument& function);

// Drops all that a payload holds. requires: attached, on the main thread or before any launch.
void destroy_payload(payload& p);

}  // namespace hostlaunch::python
