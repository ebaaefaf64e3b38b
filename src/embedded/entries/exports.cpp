// SPDX-License-Identifier: Apache-2.0
// The exported entry points, made from entry_list.def: each leads through the door to its body.
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

}  // namespace hostlaunch::embedded
