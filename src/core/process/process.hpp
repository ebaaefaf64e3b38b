// SPDX-License-Identifier: Apache-2.0
// What the process as a whole is doing: inside a host function, forked, exiting.
//
// A child forked after the driver was initialised is marked by a pthread_atfork handler that runs
// in the child before anything else; from then on no call of the library enters the driver there,
// and no host function begins. One forked while another thread initialises the driver is marked
// too. A child forked before works like any process.
#pragma once

#include <atomic>

#include "core/status.hpp"

namespace hostlaunch::core {

namespace detail {
// What keeps calls from the fast path, as bits of one word.
enum : unsigned {
    not_loaded = 1,
    forked_bit = 2,
    exiting_bit = 4,
    ending_bit = 8,
    monitor_sleeps = 16,  // see monitor.hpp; this bit and the next come and go
    watched_bit = 32,     // somebody reads what is marked, see task/trace.hpp
    refusing = not_loaded | forked_bit | exiting_bit | ending_bit,
};

// Sequentially consistent: launches rely on it against the sweep at exit and the monitor's
// sleep.
inline constinit std::atomic<unsigned> condition{not_loaded | monitor_sleeps};

// In the static block of thread-local storage, so that reading it is one instruction in a shared
// library too.
extern constinit __attribute__((tls_model("initial-exec"))) thread_local int host_function_depth;

[[gnu::cold]] void end_thread() noexcept;

inline bool has(unsigned bit) noexcept {
    return (condition.load() & bit) != 0;
}
}  // namespace detail

// Marks the calling thread as running a host function of ours.
class host_function_scope {
  public:
    host_function_scope() noexcept : former_(detail::host_function_depth++) {}
    // Restores rather than counts: a fork inside the function sets the depth to zero.
    ~host_function_scope() { detail::host_function_depth = former_; }
    host_function_scope(const host_function_scope&) = delete;
    host_function_scope& operator=(const host_function_scope&) = delete;

  private:
    int former_;
};

inline bool in_host_function() noexcept {
    return detail::host_function_depth != 0;
}

// True in the child of a fork whose parent had initialised the driver or had begun to.
inline bool forked() noexcept {
    return detail::has(detail::forked_bit);
}

// Set once exit has begun: launches are refused, other calls still work.
inline bool exiting() noexcept {
    return detail::has(detail::exiting_bit);
}
void set_exiting() noexcept;

// True once exit handlers of the process run: the driver may be gone, so no call enters it any more
// and what is left is leaked on purpose.
inline bool process_ending() noexcept {
    return detail::has(detail::ending_bit);
}

// Whether the calling thread may enter the driver now: not inside a host function, in a forked
// child or once the process ends. lifecycle.hpp loads the driver too.
status may_enter() noexcept;

// True if nothing stands in the way of a launch, and nobody watches it: two loads.
inline bool on_fast_path() noexcept {
    return !detail::has(detail::refusing | detail::watched_bit) && detail::host_function_depth == 0;
}

// Ends the calling thread if it runs a host function in a forked child: called where it would
// return into the driver. The driver's memory is shared with the device there, so its thread would
// tell the device that the parent's function has ended (seen on an H200). Without unwinding; the
// child ends with status 0 if it has no other thread.
inline void end_in_forked_child() noexcept {
    if (forked()) [[unlikely]]
        detail::end_thread();
}

// For lifecycle.cpp alone: what has happened to the process.
void set_loaded() noexcept;
void set_ending() noexcept;
void set_forked() noexcept;            // in the child: plain stores to atomics only
void leave_host_functions() noexcept;  // the calling thread runs none any more

}  // namespace hostlaunch::core
