// SPDX-License-Identifier: Apache-2.0
// The copy of user data that a compiled host function is given.
#pragma once

#include <cstddef>
#include <span>

namespace hostlaunch::core {

// A copy aligned to 64 bytes (contract U3), to be freed by std::free; null if there are no bytes or
// there is no memory.
void* copy_user_data(std::span<const std::byte> bytes) noexcept;

}  // namespace hostlaunch::core
