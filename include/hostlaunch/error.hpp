// SPDX-License-Identifier: Apache-2.0
// The exception that the library throws: a refused driver call or a misuse of the library.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include "hostlaunch/export.hpp"

namespace hostlaunch {

// Misuse of the library, told apart from driver results (which are positive) by the sign.
enum class misuse : int {
    closed = -1,              // the stream, event or buffer is closed
    capturing = -2,           // the stream captures a graph, or another capture forbids its use
    in_host_function = -3,    // a call that would enter CUDA, made from inside a host function
    forked = -4,              // a fork of a process that had begun to initialise the driver
    exiting = -5,             // the interpreter or process has begun to exit
    no_context = -6,          // a default stream was named and no context is current
    driver_unavailable = -7,  // no usable driver library
    not_building = -8,        // the builder has no capture in progress, or not the same one
    already_built = -9,       // the builder has ended: it takes nothing more
    foreign_capture = -10,    // another library began the capture and has to end it
    not_built = -11,          // the builder has no graph yet: building has not ended
    foreign_node = -12,       // the node is not one of this graph
    already_building = -13    // the builder's capture is in progress already
};

// What went wrong, as the driver or the library names it.
//
// code(): the driver's CUresult (positive), or a value of `misuse` (negative).
// name(): "CUDA_ERROR_..." or "HOSTLAUNCH_ERROR_...". what(): what was attempted and why it failed.
class HOSTLAUNCH_API error : public std::runtime_error {
  public:
    error(int code, std::string name, const std::string& message)
        : std::runtime_error(message), code_(code), name_(std::move(name)) {}

    int code() const noexcept { return code_; }
    const std::string& name() const noexcept { return name_; }

  private:
    int code_;
    std::string name_;
};

// Sets what receives an exception that leaves a host function, called on the driver's thread; the
// stream continues afterwards. Null restores the default, one line on stderr. Returns the former.
using unhandled_exception_handler = void (*)(std::exception_ptr) noexcept;
HOSTLAUNCH_API unhandled_exception_handler
set_unhandled_exception_handler(unhandled_exception_handler handler) noexcept;

}  // namespace hostlaunch
