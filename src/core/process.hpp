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
// What keeps calls from the ordinary course, as bits of one word.
enum : unsigned {
    not_loaded = 1,
    forked_bit = 2,
    exiting_bit = 4,
    ending_bit = 8,
    housekeeper_sleeps = 16,  // see housekeeper.hpp; the only bit that comes and goes
    refusing = not_loaded | forked_bit | exiting_bit | ending_bit,
};

// Sequentially consistent: launches rely on it against the sweep at exit and the housekeeper's
// sleep.
inline constinit std::atomic<unsigned> condition{not_loaded | housekeeper_sleeps};

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

// Loads the driver if need be and says whether the calling thread may enter it now:
// refused inside a host function and in a forked child. Throws hostlaunch::error if no driver can
// be loaded. Must be called without the GIL until the driver is loaded.
status enter_driver();

// The refusals alone, without loading a driver.
status may_enter() noexcept;

// As enter_driver, and refused once exit has begun. The ordinary course is two loads.
status enter_for_launch_slowly();
inline bool ordinary_course() noexcept {
    return !detail::has(detail::refusing) && detail::host_function_depth == 0;
}
inline status enter_for_launch() {
    return ordinary_course() ? status{} : enter_for_launch_slowly();
}

// Ends the calling thread if it runs a host function in a forked child: called where it would
// return into the driver. The driver's memory is shared with the device there, so its thread would
// tell the device that the parent's function has ended (seen on an H200). Without unwinding; the
// child ends with status 0 if it has no other thread.
inline void end_in_forked_child() noexcept {
    if (forked()) [[unlikely]]
        detail::end_thread();
}

// Runs `handler` in every forked child, after forked() tells what it is (async-signal context: only
// plain stores to atomics). At most 8.
void on_fork_child(void (*handler)()) noexcept;

}  // namespace hostlaunch::core
