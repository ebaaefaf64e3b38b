// SPDX-License-Identifier: Apache-2.0
// Says what does not move, while it does not move (contract V1).
//
// A thread of its own looks several times within the limit at what runs, waits and is pending. It
// takes no lock and no GIL, enters no driver, and allocates nothing: it works when all else is
// stuck. Its lines come first, then, told by the language surface in a copy of the process, who
// holds the GIL and the stacks.
#pragma once

#include <chrono>

namespace hostlaunch::diagnosis {

// Reports to the file descriptor, which the caller keeps open, from now on, in place of an earlier
// watchdog. Zero ends it. False if there is no thread to be had, or in a forked child.
bool set_watchdog(std::chrono::nanoseconds limit, int file) noexcept;

// What HOSTLAUNCH_WATCHDOG asks for, reported to stderr; nothing if it is unset or no such number
// of seconds. Read once.
void start_watchdog_from_environment() noexcept;

// Called before a watchdog that the environment asks for begins, with its file descriptor: what the
// teller needs is made ready. Set once, before a driver is loaded.
void set_preparation(void (*prepare)(int file) noexcept) noexcept;

// Called in a copy of the process, where only async-signal-safe things are allowed: writes what the
// language surface knows of its threads. Set once, before the watchdog starts.
void set_teller(void (*tell)(int file)) noexcept;

}  // namespace hostlaunch::diagnosis
