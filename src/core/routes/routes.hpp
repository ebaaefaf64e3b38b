// SPDX-License-Identifier: Apache-2.0
// All routes: looking, failure and exit are loops over them.
#pragma once

#include "core/routes/route.hpp"

namespace hostlaunch::core::routes {

const route& of(const record& r) noexcept;

// Ends the tasks of compiled code that have run. Any thread; enters the driver: call without the
// GIL and without locks.
bool look(bool wait) noexcept;

// After a wait: tasks that it has let end are noticed before the caller goes on. Returns s.
inline status settle_after(status s) noexcept {
    if (s.ok()) look(true);
    return s;
}

// Abandons what is pending of a failed context, and asks for its release.
void abandon_pending(abi::context failed) noexcept;

// At exit, after the background thread: drops everything. Returns how many were dropped.
std::uint64_t drop_all() noexcept;

// Drops one launch that was accepted after exit had begun.
void drop_late(record& r, std::uint64_t generation) noexcept;

// True if a task is pending for which exit waits. Walks the pool.
bool awaited_at_exit() noexcept;

// Registers what the monitor does for routes. Once.
void add_duties() noexcept;

}  // namespace hostlaunch::core::routes
