// SPDX-License-Identifier: Apache-2.0
// From the first use of the driver to the end of the process, once for C++ and Python: load,
// refuse, close, wait, drop.
//
// An exit takes these steps in this order. `refuse_and_close`: launches are refused, and no
// function starts any more. `wait_for_running`: those inside the gate end, bounded. `drop_rest`:
// the background thread looks once more and is joined, and what has not run is dropped. Python does
// so in its own exit handler, while finalizers can still run; the exit handler of the process does
// what is left of it, and then no call enters the driver.
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

// Runs `handler` in every forked child, after forked() tells what it is (async-signal context: only
// plain stores to atomics). At most 8.
void on_fork_child(void (*handler)()) noexcept;

namespace lifecycle {

void refuse_and_close() noexcept;

// True while exit must wait: a function is inside the gate, or code that may be Python in disguise
// is pending. Does not look whether that has run: routes::look does.
bool still_running() noexcept;

// Calls step(pause) until nothing is running, the exit limit is over, or it returns false. Each
// step asks still_running, sleeps for `pause` and comes back; pauses grow from 0 to 10 ms.
template <class Step>
void wait_for_running(Step&& step) {
    const auto limit = std::chrono::steady_clock::now() + exit_limit();
    std::chrono::milliseconds pause{0};
    while (step(pause) && std::chrono::steady_clock::now() < limit) {
        if (pause < std::chrono::milliseconds(10)) ++pause;
    }
}

// Returns how many were dropped. Enters the driver, as above.
std::uint64_t drop_rest() noexcept;

}  // namespace lifecycle
}  // namespace hostlaunch::core
