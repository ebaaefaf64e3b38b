// SPDX-License-Identifier: Apache-2.0
// Launches of foreign compiled code, told apart from pending ones by the event behind each.
//
// The list of tracked launches belongs to one thread at a time: whoever takes the owner flag. It is
// no lock: nobody waits for it but `poll(true)`, which waits bounded and holds nothing meanwhile.
#pragma once

#include "core/record.hpp"
#include "core/status.hpp"

namespace hostlaunch::core::as_is {

// Hands over a pending record whose event was recorded behind its launch. Lock-free, any thread.
void track(record& r) noexcept;

// Ends the launches that have run, and those whose event tells a failed context. Returns true if
// one ended. `wait`: if another thread is polling, wait (10 ms at most) and poll again, so that
// what had run before the call is seen. Enters the driver: call without the GIL and without locks.
bool poll(bool wait) noexcept;

// After a wait: launches that it has let end are noticed before the caller goes on. Returns s.
inline status settle_after(status s) noexcept {
    if (s.ok()) poll(true);
    return s;
}

// True if any launch is tracked. Any thread.
bool any() noexcept;

}  // namespace hostlaunch::core::as_is
