// SPDX-License-Identifier: Apache-2.0
// Where exceptions go that leave a task.
#pragma once

#include <exception>

#include "hostlaunch/error.hpp"

namespace hostlaunch::core {

// Sets the handler, null for the one that prints a line on stderr; returns the former.
unhandled_exception_handler exchange_unhandled_handler(unhandled_exception_handler h) noexcept;

// Calls the handler that is set. Any thread; never throws.
void report_unhandled(std::exception_ptr exception) noexcept;

}  // namespace hostlaunch::core
