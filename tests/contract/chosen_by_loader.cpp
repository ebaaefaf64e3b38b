// SPDX-License-Identifier: Apache-2.0
// The driver suites take the driver that the loader takes.
#include "contract/driver.hpp"

namespace hostlaunch::contract {

std::string chosen_library() {
    return driver_library::load().path;
}

}  // namespace hostlaunch::contract
