// SPDX-License-Identifier: Apache-2.0
// Memory that runs out: a chosen operator new of the calling thread throws.
#pragma once

namespace hostlaunch::test {

// 1: the next operator new of this thread throws, 2: the one after it. The driver's own allocations
// are left alone. 0: none.
extern thread_local int allocations_until_failure;

// Finds the driver's code, once it is loaded.
void find_driver_code();

}  // namespace hostlaunch::test
