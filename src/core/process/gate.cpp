// SPDX-License-Identifier: Apache-2.0
// The exit setting, and where threads park.
#include "core/process/gate.hpp"

#include <unistd.h>

#include "driver/settings.hpp"

namespace hostlaunch::core {

std::chrono::duration<double> exit_limit() noexcept {
    constexpr double usual = 5.0;
    constexpr double longest = 1e6;
    const char* said = settings::text("HOSTLAUNCH_EXIT_TIMEOUT");
    if (said == nullptr) return std::chrono::duration<double>(usual);
    return std::chrono::duration<double>(settings::number(said, 0, longest).value_or(usual));
}

void park() noexcept {
    for (;;)
        pause();
}

}  // namespace hostlaunch::core
