// SPDX-License-Identifier: Apache-2.0
// The exit setting, and where threads park.
#include "core/gate.hpp"

#include <unistd.h>

#include <cstdlib>

namespace hostlaunch::core {

std::chrono::duration<double> exit_limit() noexcept {
    constexpr double usual = 5.0;
    constexpr double longest = 1e6;
    const char* setting = std::getenv("HOSTLAUNCH_EXIT_TIMEOUT");
    if (setting == nullptr || *setting == '\0') return std::chrono::duration<double>(usual);
    char* end = nullptr;
    const double seconds = std::strtod(setting, &end);
    const bool valid = *end == '\0' && seconds >= 0 && seconds <= longest;
    return std::chrono::duration<double>(valid ? seconds : usual);
}

void park() noexcept {
    for (;;)
        pause();
}

}  // namespace hostlaunch::core
