// SPDX-License-Identifier: Apache-2.0
// The driver suites take the driver that the loader takes.
#include "conformance/driver.hpp"

namespace hostlaunch::conformance {

std::string chosen_library() {
    return driver_library::load().path;
}

}  // namespace hostlaunch::conformance
