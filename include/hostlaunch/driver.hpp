// SPDX-License-Identifier: Apache-2.0
// Which CUDA driver is in use.
#pragma once

#include <string>

#include "hostlaunch/export.hpp"

namespace hostlaunch {

struct driver_info {
    std::string name;             // "cuda" or "embedded"
    int version = 0;              // as cuDriverGetVersion tells it: 13000 for CUDA 13.0
    std::string path;             // the file of the driver library
    std::string fallback_reason;  // why the embedded driver was taken, empty if it was asked for
};

// Loads the driver on the first call. HOSTLAUNCH_DRIVER chooses: "auto" (default), "cuda",
// "embedded", or a path. Any thread. Throws `error`: misuse::driver_unavailable without a usable
// library, the code of a driver that is there but fails; misuse::in_host_function, forked and
// exiting as every call that would enter CUDA.
HOSTLAUNCH_API driver_info driver();

}  // namespace hostlaunch
