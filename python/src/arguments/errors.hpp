// SPDX-License-Identifier: Apache-2.0
// From core errors to Python exceptions, and the few questions asked before each call.
#pragma once

#include "core/status.hpp"
#include "cpython/python.hpp"

namespace hostlaunch::python {

// Sets CUDAError (driver results) or RuntimeError (misuse). requires: attached.
void set_error(const error& e);
void set_error(core::status s, const char* attempted);

// Loads the driver on first use and refuses calls from inside host functions and in forked
// children. Issues EmbeddedDriverWarning once if the embedded driver was taken for want of another.
// Returns false with an exception set. requires: attached; detaches while it loads. The warning
// points at the caller's Python frame, or that many frames above it.
bool enter_driver(const char* attempted, int warning_stack_level = 1);

// The refusals alone, without loading a driver.
bool may_enter(const char* attempted);

// Takes the exception classes from the package, at import. False with an exception set.
bool init_errors();

}  // namespace hostlaunch::python
