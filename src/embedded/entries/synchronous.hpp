// SPDX-License-Identifier: Apache-2.0
// Work of calls that have no stream.
#pragma once

#include "embedded/engine/driver.hpp"

namespace hostlaunch::embedded {

// Enqueues in the legacy stream of the current context, and waits for it if told to. Takes the
// driver's mutex.
result enqueue_synchronous(const work& what, bool waits);

}  // namespace hostlaunch::embedded
