// SPDX-License-Identifier: Apache-2.0
// Waits on values in memory. requires the mutex for every function.
#pragma once

#include "embedded/engine/driver.hpp"

namespace hostlaunch::embedded {

bool value_is_reached(const work::value_work& w);
void store_value(const work::value_work& w);
// False if the thread cannot be started.
bool ensure_poller();
// The stream's head is a wait that is not fulfilled. requires: ensure_poller returned true
void start_polling(stream_state& s);
void stop_polling(stream_state& s);

}  // namespace hostlaunch::embedded
