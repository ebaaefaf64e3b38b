// SPDX-License-Identifier: Apache-2.0
// The rules for `fn` and `user_data`: contract F1 to F3 and U1 to U4.
#pragma once

#include "core/status.hpp"
#include "cpython/python.hpp"

namespace hostlaunch::python {

enum class function_kind {
    callable,      // a Python callable: through our trampoline
    thunk,         // a ctypes function pointer that wraps Python: through our trampoline too
    compiled,      // a ctypes function pointer into a loaded library: as is
    unknown_code,  // a ctypes function pointer to code that nobody knows: as is, exit waits for it
};

// A checked pair of arguments. `copy` and `kept` are owned until they are moved into a payload.
struct function_argument {
    function_kind kind = function_kind::callable;
    abi::host_fn code = nullptr;
    void* user_data = nullptr;
    void* copy = nullptr;
    owned kept;  // stands for fn where more than fn must live, or null

    function_argument() = default;
    function_argument(const function_argument&) = delete;
    function_argument& operator=(const function_argument&) = delete;
    ~function_argument();
};

// Checks fn and user_data (null means None) and copies what must be copied. Returns false with the
// exception set. requires: attached. May run Python code (attribute lookups, buffer exporters).
bool check_function(PyObject* fn, PyObject* user_data, function_argument& out);

// For a callable with arguments of its own: refuses what cannot be called, and what runs nothing
// when it is called. False with TypeError. requires: attached.
bool check_function_with_arguments(PyObject* fn);

bool init_function_argument();

}  // namespace hostlaunch::python
