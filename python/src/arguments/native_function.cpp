// SPDX-License-Identifier: Apache-2.0
// Asks the dynamic loader where code lies.
#include "arguments/native_function.hpp"

#include <dlfcn.h>

#ifdef __GLIBC_PREREQ
#if __GLIBC_PREREQ(2, 35)
#define HOSTLAUNCH_HAS_FIND_OBJECT
#endif
#endif

namespace hostlaunch::python {

// Asked each time: a library may be closed and its addresses be reused.
bool is_in_loaded_library(abi::host_fn code) {
#ifdef HOSTLAUNCH_HAS_FIND_OBJECT
    dl_find_object found;  // takes no lock and reads no symbols
    return _dl_find_object(reinterpret_cast<void*>(code), &found) == 0;
#else
    Dl_info info{};
    return dladdr(reinterpret_cast<void*>(code), &info) != 0 && info.dli_fname != nullptr;
#endif
}

}  // namespace hostlaunch::python
