// SPDX-License-Identifier: Apache-2.0
// One queue of what must be disposed of elsewhere than where it came to its end: ended tasks, what
// runs of graphs leave behind, driver objects that died inside a host function, captures.
//
// Each is a record with a type whose `destroy` disposes of it. Any thread pushes, allocating
// nothing; the language drains: Python on its main thread, C++ on the background thread.
#pragma once

#include "core/task/record_stack.hpp"

namespace hostlaunch::core {

record_stack& to_release() noexcept;

// A record of `type` whose payload the caller fills and then pushes; null if there is no memory.
record* acquire_left_behind(const task_type& type) noexcept;
void push_left_behind(record& r) noexcept;

// The same for what is no task's and not counted among those that await release.
record* acquire_remains(const task_type& type) noexcept;
void push_remains(record& r) noexcept;

// Disposes of a record from the queue: tells the completion of a task that never ran, destroys the
// payload and gives the record back. Runs destructors of users: call without locks, never where
// functions run, and as the type says with or without the GIL.
void dispose(record& r) noexcept;

// The undo of every way to launch: destroys the payload of a record that the caller owns, since
// nothing was launched, and gives it back. requires: attached, for a type of Python's.
void discard(record& r) noexcept;

// Asks the language to drain the queue soon. It sets the hook once; the hook returns false if it
void set_release_hook(bool (*hook)() noexcept, bool (*again)() noexcept = nullptr) noexcept;
void request_release() noexcept;

// Has the monitor ask again, by the hook `again` if there is one.
void request_release_later() noexcept;

// Drains the queue on the calling thread if no language has set a hook (C++ alone). Returns true if
// there was anything.
bool release_in_background() noexcept;

// True if a language has set its hook.
bool has_release_hook() noexcept;

// True once a request failed, until it is made again.
bool release_retry_wanted() noexcept;

// For the child of a fork: what awaits release there belongs to the parent.
void forget_releases() noexcept;

// Registers what the monitor does for releases. Once.
void add_release_duty() noexcept;

}  // namespace hostlaunch::core
