// SPDX-License-Identifier: Apache-2.0
// A function pointer to compiled code, whoever made it.
#pragma once

#include "core/status.hpp"
#include "cpython/python.hpp"

namespace hostlaunch::python {

// A checked function pointer.
struct native_function {
    abi::host_fn code = nullptr;  // copied: what is assigned later to its memory changes nothing
    bool wraps_python = false;    // as well as its maker lets one see
    bool in_library = false;      // in a loaded library, so no thunk
    owned kept;                   // what must live besides the object itself, or null
};

bool is_in_loaded_library(abi::host_fn code);

}  // namespace hostlaunch::python
