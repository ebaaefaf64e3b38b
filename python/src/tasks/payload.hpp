// SPDX-License-Identifier: Apache-2.0
// What a record carries for Python: the references and memory of one launch.
//
// Filled on the launching thread, used on the driver's thread, released on the main thread. Nobody
// touches a reference count without being attached.
#pragma once

#include <new>

#include "arguments/function_argument.hpp"
#include "core/task/names.hpp"
#include "core/task/record.hpp"
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

// The type of a task in plain streams, and of the same task in graphs. Native code in a graph runs
// as it is; unknown code runs through our trampoline there: detached, but within the gate, so that
// exit waits for it and none starts later.
const core::task_type& type_of(function_kind kind) noexcept;
const core::task_type& type_in_graph(function_kind kind) noexcept;

// Fills a record with a new reference to fn and what was checked; takes the copy over.
payload& fill_payload(core::record& r, const core::task_type& type, PyObject* fn,
                      function_argument& function);

// What reports call it. requires: attached.
core::name_id name_of_payload(const payload& p) noexcept;

// True for a task of host_launch, whose record carries such a payload.
bool has_payload(const core::record& r) noexcept;

// True if nothing dies by dropping what the task holds: then no finalizer runs.
bool drops_counts_only(const core::record& r) noexcept;

}  // namespace hostlaunch::python
