// SPDX-License-Identifier: Apache-2.0
// Stream as a Python class.
#pragma once

#include "classes/holder.hpp"

namespace hostlaunch::python {

// The stream that a method is called on, which must be open; enters the driver.
stream_argument stream_of(py_stream& self, const char* attempted);

void bind_stream(nanobind::module_& m);

}  // namespace hostlaunch::python
