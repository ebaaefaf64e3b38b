// SPDX-License-Identifier: Apache-2.0
// From the first use of the driver to the end of the process, once for C++ and Python: load,
// refuse, wait, close, wait, drop.
//
// An exit takes these steps in this order, and all its waits together end at one deadline.
// `refuse`: launches are refused. Wait while `still_pending`: what was accepted runs (Python only).
// `close`: no function starts any more. Wait while `still_running`: those inside the gate end.
// `drop_rest`: the background thread looks once more and is joined, and what has not run is
// dropped. Python does so in its own exit handler, while finalizers can still run; the exit handler
// of the process does what is left of it, and then no call enters the driver.
#pragma once

#include <chrono>
#include <cstdint>

#include "core/process/gate.hpp"
#include "core/process/process.hpp"
#include "core/status.hpp"
#include "hostlaunch/driver.hpp"

namespace hostlaunch::core {

// Loads the driver if need be and says whether the calling thread may enter it now: refused inside
// a host function and in a forked child. Throws hostlaunch::error if no driver can be loaded. Must
// be called without the GIL until the driver is loaded.
status enter_driver();

// True once a driver is loaded; what is known of it then.
bool has_driver() noexcept;
driver_info driver_in_use();

// What a setting says; null if it is unset, empty or must not be trusted.
const char* setting(const char* name) noexcept;

// As enter_driver, and refused once exit has begun. The fast path is two loads.
status enter_for_launch_slow();
inline status enter_for_launch() {
    return on_fast_path() ? status{} : enter_for_launch_slow();
}

// Calls `begin` once the driver is loaded, perhaps more than once: without the GIL or any lock.
void on_loaded(void (*begin)() noexcept) noexcept;

// Runs `handler` in every forked child, after forked() tells what it is (async-signal context: only
// plain stores to atomics). At most 8.
void on_fork_child(void (*handler)()) noexcept;

namespace lifecycle {

void refuse() noexcept;
void close() noexcept;

// True while a task that was accepted has not ended, and may yet: the gate is open and the calling
// thread holds up none itself. As below, it does not look whether compiled code has run.
bool still_pending() noexcept;

// True while exit must wait: a function is inside the gate, or code that may be Python in disguise
// is pending. Does not look whether that has run: routes::look does.
bool still_running() noexcept;

// When the waits of an exit that begins now are over.
inline auto exit_deadline() {
    return std::chrono::steady_clock::now() + exit_limit();
}

// Calls step(pause) until it returns false or the deadline is over. Each step asks whether there is
// anything to wait for, sleeps for `pause` and comes back; pauses grow from 0 to 10 ms.
template <class Deadline, class Step>
void wait_until(const Deadline& deadline, Step&& step) {
    std::chrono::milliseconds pause{0};
    while (step(pause) && std::chrono::steady_clock::now() < deadline) {
        if (pause < std::chrono::milliseconds(10)) ++pause;
    }
}

// Returns how many were dropped. Enters the driver, as above.
std::uint64_t drop_rest() noexcept;

}  // namespace lifecycle
}  // namespace hostlaunch::core
