// SPDX-License-Identifier: Apache-2.0
// The exported entry points, made from entry_list.def: each leads through the door to its body.
// Those of unbuilt.def say that they are not supported.
#include "embedded/entries/calls.hpp"
#include "embedded/entries/door.hpp"
#include "embedded/entry_points.hpp"

namespace hostlaunch::embedded {

#define HOSTLAUNCH_EMBEDDED_ENTRY(symbol, base, version, traits, parameters, arguments) \
    result symbol parameters {                                                          \
        return enter<entry_id::symbol, calls::symbol> arguments;                        \
    }
#include "embedded/entry_list.def"
#undef HOSTLAUNCH_EMBEDDED_ENTRY

// What is not built takes no notice of its arguments, so it needs no signature.
extern "C" {
#define HL_U(symbol)                             \
    HOSTLAUNCH_EMBEDDED_EXPORT result symbol() { \
        return error_not_supported;              \
    }
#include "embedded/entries/unbuilt.def"
#undef HL_U
}

}  // namespace hostlaunch::embedded
