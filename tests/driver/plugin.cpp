// SPDX-License-Identifier: Apache-2.0
// A library with the static hostlaunch in it: tells where it found its driver.
#include <cstdio>

#include "hostlaunch/hostlaunch.hpp"

extern "C" HOSTLAUNCH_API int hostlaunch_test_tell() {
    const hostlaunch::driver_info info = hostlaunch::driver();
    std::printf("name %s\npath %s\n", info.name.c_str(), info.path.c_str());
    return 0;
}
