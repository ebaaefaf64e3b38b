// SPDX-License-Identifier: Apache-2.0
// The routes of native code: the driver gets its own address, and an event behind it tells when it
// has run.
#pragma once

#include "core/routes/route.hpp"

namespace hostlaunch::core {

extern const route native;        // code in a loaded library
extern const route unknown_code;  // code that may be Python in disguise: exit waits for it

// Enqueues fn(user_data) with the same checks, and keeps nothing: no record, no event.
status launch_untracked(stream_target target, const native_code& code) noexcept;

// True if any launch is tracked. Any thread.
bool any_tracked() noexcept;

}  // namespace hostlaunch::core
