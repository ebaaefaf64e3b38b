// SPDX-License-Identifier: Apache-2.0
// What Python programs call to see what happens: the watchdog, the trace file, what is pending.
#pragma once

#include <nanobind/nanobind.h>

namespace hostlaunch::python {

// Binds the private functions behind hostlaunch.watchdog, trace, pending and named.
void bind_diagnosis(nanobind::module_& m);

}  // namespace hostlaunch::python
