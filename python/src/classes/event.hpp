// SPDX-License-Identifier: Apache-2.0
// Event as a Python class.
#pragma once

#include <nanobind/nanobind.h>

namespace hostlaunch::python {

void bind_event(nanobind::module_& m);

}  // namespace hostlaunch::python
