// SPDX-License-Identifier: Apache-2.0
// Declares every exported entry point of the embedded driver, and numbers them, from
// entry_list.def.
#pragma once

#include "embedded/abi.hpp"

#define HOSTLAUNCH_EMBEDDED_EXPORT __attribute__((visibility("default")))

namespace hostlaunch::embedded {

extern "C" {
#define HOSTLAUNCH_EMBEDDED_ENTRY(symbol, base, version, traits, parameters, arguments) \
    HOSTLAUNCH_EMBEDDED_EXPORT result symbol parameters;
#include "embedded/entry_list.def"
#undef HOSTLAUNCH_EMBEDDED_ENTRY
}

// One number for each exported symbol, in the list's order.
enum class entry_id : unsigned {
#define HOSTLAUNCH_EMBEDDED_ENTRY(symbol, base, version, traits, parameters, arguments) symbol,
#include "embedded/entry_list.def"
#undef HOSTLAUNCH_EMBEDDED_ENTRY
    count
};

inline constexpr unsigned entry_count = static_cast<unsigned>(entry_id::count);

}  // namespace hostlaunch::embedded
