// SPDX-License-Identifier: Apache-2.0
// Errors inside the core are values; they become exceptions once, at the public border.
#pragma once

#include <string>

#include "driver/abi.hpp"
#include "hostlaunch/error.hpp"

namespace hostlaunch::core {

// code: 0, a CUresult, or a negative `misuse`. call: the driver entry that returned it, or null;
// for misuse::closed the object that is closed.
struct [[nodiscard]] status {
    int code = 0;
    const char* call = nullptr;

    bool ok() const noexcept { return code == 0; }
};

inline status refuse(misuse m) noexcept {
    return {static_cast<int>(m), nullptr};
}

// misuse::closed of an object as the caller knows it: "stream", "source buffer".
inline status refuse_closed(const char* object) noexcept {
    return {static_cast<int>(misuse::closed), object};
}

// "CUDA_ERROR_..." or "HOSTLAUNCH_ERROR_...".
std::string status_name(int code);

// The exception for a failed status. `attempted` says what the caller wanted, e.g. "host_launch on
// stream 0x7f..": the message is that, what the driver said, and what to do where we know it.
error to_error(status s, const std::string& attempted);

[[noreturn]] void throw_error(status s, const char* attempted);

// Throws to_error(s, attempted) unless s.ok().
inline void throw_if_failed(status s, const char* attempted) {
    if (!s.ok()) throw_error(s, attempted);
}

}  // namespace hostlaunch::core
