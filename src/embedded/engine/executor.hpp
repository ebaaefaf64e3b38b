// SPDX-License-Identifier: Apache-2.0
// The threads that run host functions. requires the mutex for every function.
#pragma once

#include "embedded/engine/driver.hpp"

namespace hostlaunch::embedded {

// False if the thread cannot be started.
bool ensure_executor(context_state& ctx);
// The stream's head is a host function that is ready to run.
void offer(stream_state& s);
// Takes back every offered stream that has not started.
void take_back_offers();
void stop_executor(executor* e);
// More host functions may start now.
void wake_executors();

}  // namespace hostlaunch::embedded
