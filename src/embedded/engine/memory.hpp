// SPDX-License-Identifier: Apache-2.0
// Allocates, frees and finds memory: device memory is host memory here.
#pragma once

#include "embedded/engine/driver.hpp"

namespace hostlaunch::embedded {

// In the current context. Takes the driver's mutex.
result allocate(void** out, std::size_t bytes, bool on_host, bool mapped);

// Waits for all work of the context first, as the real driver does, and for what other contexts
// have enqueued that uses the memory: here it would write where something else is by then. Takes
// the driver's mutex.
result release(void* memory, bool on_host);

// The allocation that the address lies in, and where that begins; null if it is none of ours.
// requires the driver's mutex
const allocation* find_allocation(const void* address, std::uintptr_t& first);

}  // namespace hostlaunch::embedded
