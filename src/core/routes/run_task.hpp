// SPDX-License-Identifier: Apache-2.0
// Running tasks whose signals have told, on a pool's thread: gate, claim, context, task.
#pragma once

#include <cstddef>

#include "core/routes/signal_list.hpp"

namespace hostlaunch::core {

// Runs tasks of one type in their order. Those that were cancelled meanwhile, and all once the gate
// is closed, are left alone. requires: no lock held; default capture mode. May run code of users,
// who may call CUDA and this library there.
void run_tasks(const ready_task* tasks, std::size_t count);

}  // namespace hostlaunch::core
