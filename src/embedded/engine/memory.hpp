// SPDX-License-Identifier: Apache-2.0
// Allocates, registers, frees and finds memory: device memory is host memory here.
#pragma once

#include "embedded/engine/driver.hpp"

namespace hostlaunch::embedded {

// In the current context. Takes the driver's mutex.
result allocate(void** out, std::size_t bytes, memory_kind kind, unsigned flags);

// The caller's own memory, which stays the caller's. Takes the driver's mutex.
result register_memory(void* memory, std::size_t bytes, unsigned flags);

// Waits for all work of the context first, as the real driver does, and for what other contexts
// have enqueued that uses the memory: here it would write where something else is by then. Takes
// the driver's mutex.
enum class freed_as { device, host, registered };
result release(void* memory, freed_as how);

// requires the driver's mutex, all of these

// Memory of whole alignment units; null if there is none.
void* take_memory(std::size_t bytes);
void give_memory_back(void* memory);

// The allocation that the address lies in, and where that begins; null if it is none of ours.
const allocation* find_allocation(const void* address, std::uintptr_t& first);
// Whether calls may name all these bytes: inside one allocation if they begin in one.
enum class place { ours, anywhere };
bool is_range(const void* begin, std::size_t bytes, place where);
// Whether the host holds it by right; what nobody allocated is the host's.
bool is_on_host(const void* begin);

void free_memory_of(const context_state& ctx);

}  // namespace hostlaunch::embedded
