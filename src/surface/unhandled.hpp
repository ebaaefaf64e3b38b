// SPDX-License-Identifier: Apache-2.0
// Where exceptions go that leave a host function.
#pragma once

#include <exception>

namespace hostlaunch {

// Calls the handler that is set. Any thread; never throws.
void report_unhandled(std::exception_ptr exception) noexcept;

}  // namespace hostlaunch
