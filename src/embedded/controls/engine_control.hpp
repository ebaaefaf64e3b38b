// SPDX-License-Identifier: Apache-2.0
// The part of `hostlaunch_embedded_reset` that is the engine's.
#pragma once

namespace hostlaunch::embedded {

// Takes the driver's mutex, so none may be held.
void reset_engine_knobs();

}  // namespace hostlaunch::embedded
