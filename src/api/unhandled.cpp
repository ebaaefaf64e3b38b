// SPDX-License-Identifier: Apache-2.0
// The handler of exceptions that leave a host function.
#include "core/task/unhandled.hpp"

namespace hostlaunch {

unhandled_exception_handler set_unhandled_exception_handler(
    unhandled_exception_handler handler) noexcept {
    return core::exchange_unhandled_handler(handler);
}

}  // namespace hostlaunch
