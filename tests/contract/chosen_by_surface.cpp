// SPDX-License-Identifier: Apache-2.0
// The C++ suite takes the driver that the library tells it is using.
#include "contract/driver.hpp"
#include "hostlaunch/driver.hpp"

namespace hostlaunch::contract {

std::string chosen_library() {
    return hostlaunch::driver().path;
}

}  // namespace hostlaunch::contract
