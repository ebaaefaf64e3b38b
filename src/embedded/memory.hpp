// SPDX-License-Identifier: Apache-2.0
// Looks up what the embedded driver allocated. requires the driver's mutex.
#pragma once

#include "embedded/driver.hpp"

namespace hostlaunch::embedded {

// The allocation that the address lies in, and where that begins; null if it is none of ours.
const allocation* find_allocation(const void* address, std::uintptr_t& first);

}  // namespace hostlaunch::embedded
