// SPDX-License-Identifier: Apache-2.0
// What the process as a whole is doing: inside a host function, forked, exiting.
//
// A child forked after the driver was initialised is marked by a pthread_atfork handler that runs in
// the child before anything else; from then on no call of the library enters the driver there.
#pragma once

#include <atomic>

#include "core/status.hpp"

namespace hostlaunch::core {

namespace detail {
extern thread_local int host_function_depth;
extern std::atomic<bool> forked;
extern std::atomic<bool> exiting;
extern std::atomic<bool> ending;
}  // namespace detail

// Marks the calling thread as running a host function of ours.
class host_function_scope {
  public:
    host_function_scope() noexcept { ++detail::host_function_depth; }
    ~host_function_scope() { --detail::host_function_depth; }
    host_function_scope(const host_function_scope&) = delete;
    host_function_scope& operator=(const host_function_scope&) = delete;
};

inline bool in_host_function() noexcept { return detail::host_function_depth != 0; }

// True in the child of a fork whose parent had initialised the driver.
inline bool forked() noexcept { return detail::forked.load(std::memory_order_relaxed); }

// Set once exit has begun: launches are refused, other calls still work.
inline bool exiting() noexcept { return detail::exiting.load(); }
void set_exiting() noexcept;

// True once exit handlers of the process run: the driver may be gone, so no call enters it any more
// and what is left is leaked on purpose.
inline bool process_ending() noexcept { return detail::ending.load(std::memory_order_relaxed); }

// Loads the driver if need be and says whether the calling thread may enter it now:
// refused inside a host function and in a forked child. Throws hostlaunch::error if no driver can
// be loaded. Must be called without the GIL until the driver is loaded.
status enter_driver();

// Like enter_driver once the driver is loaded, never throws. requires: driver_library::is_loaded().
inline status may_enter() noexcept {
    if (in_host_function()) return refuse(misuse::in_host_function);
    if (forked()) return refuse(misuse::forked);
    if (process_ending()) return refuse(misuse::exiting);
    return {};
}

// Runs `handler` in a forked child (async-signal context: only plain stores to atomics). At most 8.
void on_fork_child(void (*handler)()) noexcept;

}  // namespace hostlaunch::core
