// SPDX-License-Identifier: Apache-2.0
// The bodies of the entry points, one for each line of entry_list.def.
//
// A body is called by the door (door.hpp), which has answered for a driver that is not initialised,
// forked, exiting or failed. It takes the driver's mutex itself. What the door does not check is
// the body's to check: pointers that may be null, handles, ranges, flags. Where it returns an
// error, what the caller's pointers point to is as it was, unless CUDA says otherwise.
#pragma once

#include "embedded/abi.hpp"

namespace hostlaunch::embedded::calls {

#define HOSTLAUNCH_EMBEDDED_ENTRY(symbol, base, version, traits, parameters, arguments) \
    result symbol parameters;
#include "embedded/entry_list.def"
#undef HOSTLAUNCH_EMBEDDED_ENTRY

}  // namespace hostlaunch::embedded::calls
