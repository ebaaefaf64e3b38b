// SPDX-License-Identifier: Apache-2.0
// The route of tasks that the stream does not wait for: an event recorded behind the stream's work
// signals that a pool's thread may run the task. No function of the driver, and no thread of it.
#pragma once

#include "core/routes/route.hpp"

namespace hostlaunch::core {

class worker_pool;

// Its tasks have types that are part of a signal_type. Launches go to the pool of everybody.
extern const route signal;

// As route::launch, to a pool. requires: the pool was started and has reserved room, which is used
// up, or given back on failure.
status launch_signal(stream_target target, record& r, worker_pool& pool) noexcept;

}  // namespace hostlaunch::core
