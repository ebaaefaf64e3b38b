// SPDX-License-Identifier: Apache-2.0
// What the library tells about itself.
#include "core/lifecycle.hpp"
#include "core/task/outcomes.hpp"
#include "hostlaunch/stats.hpp"

namespace hostlaunch {

launch_stats stats() noexcept {
    return core::read_stats();
}

driver_info driver() {
    core::throw_if_failed(core::enter_driver(), "driver()");
    return core::driver_in_use();
}

}  // namespace hostlaunch
