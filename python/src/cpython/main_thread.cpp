// SPDX-License-Identifier: Apache-2.0
// Asks CPython by the function that its own extensions use, exported by 3.11 to 3.15.
#include "cpython/main_thread.hpp"

#include <Python.h>

// From 3.13 on declared in internal headers only.
extern "C" int _PyOS_IsMainThread();

namespace hostlaunch::python {

bool on_main_thread() noexcept {
    return _PyOS_IsMainThread() != 0;
}

bool in_main_interpreter() noexcept {
    return PyInterpreterState_Get() == PyInterpreterState_Main();
}

}  // namespace hostlaunch::python
