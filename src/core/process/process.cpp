// SPDX-License-Identifier: Apache-2.0
// The words about the process, and what they refuse.
#include "core/process/process.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include "core/process/monitor.hpp"

namespace hostlaunch::core {

namespace detail {
constinit thread_local int host_function_depth = 0;
}  // namespace detail

void set_exiting() noexcept {
    detail::condition.fetch_or(detail::exiting_bit);
}

void set_loaded() noexcept {
    detail::condition.fetch_and(~unsigned{detail::not_loaded});
}

void set_ending() noexcept {
    detail::condition.fetch_or(detail::ending_bit);
}

void set_forked() noexcept {
    detail::condition.fetch_or(detail::forked_bit);
}

void leave_host_functions() noexcept {
    detail::host_function_depth = 0;
}

status may_enter() noexcept {
    if (forked()) return refuse(misuse::forked);
    if (in_host_function()) return refuse(misuse::in_host_function);
    if (process_ending()) return refuse(misuse::exiting);
    monitor::start_if_missing();
    return {};
}

void detail::end_thread() noexcept {
    syscall(SYS_exit, 0);
}

}  // namespace hostlaunch::core
