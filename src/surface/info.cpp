// SPDX-License-Identifier: Apache-2.0
// What the library tells about itself.
#include "core/outcomes.hpp"
#include "core/process.hpp"
#include "driver/driver.hpp"
#include "hostlaunch/driver.hpp"
#include "hostlaunch/stats.hpp"

namespace hostlaunch {

launch_stats stats() noexcept {
    return core::read_stats();
}

driver_info driver() {
    core::throw_if_failed(core::enter_driver(), "driver()");
    const driver_library::library& lib = driver_library::load();
    const char* name = lib.which == driver_library::kind::embedded ? "embedded" : "cuda";
    return {name, lib.version, lib.path, lib.fallback_reason};
}

}  // namespace hostlaunch
