// SPDX-License-Identifier: Apache-2.0
// Copies user data to memory of its own.
#include "core/task/user_data.hpp"

#include <cstdlib>
#include <cstring>

namespace hostlaunch::core {

void* copy_user_data(std::span<const std::byte> bytes) noexcept {
    constexpr std::size_t alignment = 64;
    if (bytes.empty()) return nullptr;
    const std::size_t room = (bytes.size() + alignment - 1) / alignment * alignment;
    void* copy = std::aligned_alloc(alignment, room);
    if (copy != nullptr) std::memcpy(copy, bytes.data(), bytes.size());
    return copy;
}

}  // namespace hostlaunch::core
