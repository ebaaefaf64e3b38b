// SPDX-License-Identifier: Apache-2.0
// Opening one driver library: from a file name to a checked table of functions.
#pragma once

#include <string>

#include "driver/driver.hpp"

namespace hostlaunch::driver_library {

// What became of one attempt. `code` is 0, a CUresult, or a negative hostlaunch::misuse.
struct attempt {
    enum class outcome { ready, absent, no_device, failed };
    outcome how = outcome::failed;
    result code = abi::success;
    std::string reason;  // one sentence, empty if ready
};

// Opens `name`, fills `out` and initialises the driver (cuInit).
//   absent: there is no such library; no_device: it says that there is no device;
//   failed: it is there but unusable, the toolkit's stub library included.
attempt open_library(const std::string& name, library& out);

// The NVIDIA driver's library, as the system's loader finds it.
attempt open_cuda_library(library& out);

// The embedded driver's library, where place.hpp says that it may lie.
attempt open_embedded_library(library& out);

}  // namespace hostlaunch::driver_library
