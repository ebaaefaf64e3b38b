// SPDX-License-Identifier: Apache-2.0
// The gate that every callback passes, and that exit closes.
//
// While the gate counts a driver thread, exit waits for it (bounded); once it is closed no callback
// starts any more, and the launches that did not start are dropped.
#pragma once

#include <chrono>

#include "core/process/use_count.hpp"

namespace hostlaunch::core {

namespace detail {
// Alone on its cache line: every callback writes it, and every launch reads what lies beside.
struct alignas(64) lone_gate {
    use_count gate;
};
inline constinit lone_gate the_gate;
}  // namespace detail

// Has no destructor to run: driver threads pass it until the process is gone.
inline use_count& gate() noexcept {
    return detail::the_gate.gate;
}

// How long exit waits for functions that are running: HOSTLAUNCH_EXIT_TIMEOUT in seconds, from 0 to
// a million; 5 if it is unset or no such number.
std::chrono::duration<double> exit_limit() noexcept;

// Never returns: where a thread goes that its runtime has given up, or that nothing may unwind.
[[noreturn]] void park() noexcept;

}  // namespace hostlaunch::core
