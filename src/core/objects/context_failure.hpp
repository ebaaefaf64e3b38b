// SPDX-License-Identifier: Apache-2.0
// Whether a context has failed. The driver tells nobody: it is found by asking.
#pragma once

#include "driver/driver.hpp"

namespace hostlaunch::core {

// True for results that mean that nothing of the context will ever run again: the codes whose text
// in cuda.h (CUDA 13.0) says that the process or context is inconsistent, and a destroyed context.
// Also for uncorrectable memory and link errors and the unknown one, whose text says nothing of the
// sort; they may pass, so functions that still wait are given up after the second answer only.
bool is_context_failure(int code) noexcept;

// Destroys an event about which the driver gave this answer. One whose context is gone went with
// it: a second time can crash the driver (measured on an H200).
inline void destroy_event(abi::event event, int answer) noexcept {
    if (answer != abi::error_context_is_destroyed) driver_library::api().event_destroy(event);
}

// Asks a context, from a thread in relaxed capture mode. Allocates nothing. Enters the driver: call
// without the GIL and without any lock.
bool has_failed(abi::context context) noexcept;

}  // namespace hostlaunch::core
