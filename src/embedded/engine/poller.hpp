// SPDX-License-Identifier: Apache-2.0
// Values in memory: what waits for them and writes them. requires the mutex for every function.
#pragma once

#include "embedded/engine/driver.hpp"

namespace hostlaunch::embedded {

// A wait or a write; a barrier and a flush are none.
bool is_value(const value_params& params);
// requires: is_value
work value_of(const value_params& params);

bool value_is_reached(const work::value_work& w);
void store_value(const work::value_work& w);
// False if the thread cannot be started.
bool ensure_poller();
// The stream's head is a wait that is not fulfilled. requires: ensure_poller returned true
void start_polling(stream_state& s);
void stop_polling(stream_state& s);

}  // namespace hostlaunch::embedded
