// SPDX-License-Identifier: Apache-2.0
// Settings from the environment: the one place where it is read.
//
// A program that runs with more rights than whoever started it (setuid, setgid, capabilities) must
// not be told by that person which library to load: there no setting counts. A header without
// anything else of ours in it, since the embedded driver reads its own settings by the same rules.
#pragma once

#include <sys/auxv.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace hostlaunch::settings {

// True in a program with more rights than its caller has, as the kernel says (AT_SECURE).
inline bool is_privileged() noexcept {
    return getauxval(AT_SECURE) != 0;
}

// What a setting says; null if it is unset, empty or must not be trusted.
inline const char* text(const char* name) noexcept {
    const char* said = secure_getenv(name);
    return said != nullptr && *said != '\0' ? said : nullptr;
}

// A whole text as a number from `low` to `high`, with a decimal point in every locale.
inline std::optional<double> number(const char* said, double low, double high) noexcept {
    double value = 0;
    const char* end = said + std::strlen(said);
    const auto [stopped, failed] = std::from_chars(said, end, value);
    if (failed != std::errc() || stopped != end || !(value >= low && value <= high)) return {};
    return value;
}

}  // namespace hostlaunch::settings
