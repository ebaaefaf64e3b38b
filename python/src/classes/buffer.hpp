// SPDX-License-Identifier: Apache-2.0
// Buffer as a Python class.
#pragma once

#include <nanobind/nanobind.h>

namespace hostlaunch::python {

void bind_buffer(nanobind::module_& m);

}  // namespace hostlaunch::python
