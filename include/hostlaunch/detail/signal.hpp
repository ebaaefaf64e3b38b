// SPDX-License-Identifier: Apache-2.0
// Enqueuing what the stream does not wait for, and what its tasks need. Not for direct use.
#pragma once

#include <exception>

#include "hostlaunch/detail/closure.hpp"
#include "hostlaunch/detail/signal_type.hpp"
#include "hostlaunch/export.hpp"
#include "hostlaunch/stream.hpp"

namespace hostlaunch::detail {

// Enqueues the record's signal, which is no longer the caller's. Destroys what is in it and throws
// if nothing was enqueued.
HOSTLAUNCH_API void signal(core::record* r, stream_ref stream, const signal_type& type,
                           const char* attempted);

// Calls call(storage) and returns what was thrown, or null.
HOSTLAUNCH_API std::exception_ptr catch_from(void (*call)(void*), void* storage);

// The error of a task whose context failed before its stream got there.
HOSTLAUNCH_API std::exception_ptr failure(int code);

// Calls resume(coroutine); what leaves it goes to the unhandled-exception handler.
HOSTLAUNCH_API void resume(void (*resume)(void*), void* coroutine) noexcept;

}  // namespace hostlaunch::detail
