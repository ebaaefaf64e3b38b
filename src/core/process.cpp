// SPDX-License-Identifier: Apache-2.0
// The fork handler is registered at the first need of it, the exit handler behind the driver's own.
#include "core/process.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "core/gate.hpp"
#include "core/outcomes.hpp"
#include "driver/driver.hpp"

namespace hostlaunch::core {

namespace detail {
constinit thread_local int host_function_depth = 0;
}  // namespace detail

namespace {

// Written before the fork handler can run, or by a thread that holds no fork in progress.
std::array<std::atomic<void (*)()>, 8> handlers{};
std::atomic<unsigned> handler_count{0};

void mark_child() noexcept {
    // A driver that nobody had begun to initialise before the fork can be in the child.
    if (driver_library::is_loaded() || driver_library::is_loading()) {
        detail::condition.fetch_or(detail::forked_bit);
        // A fork made inside a host function returns to the driver's thread, which may go on.
        gate().close();
    }
    // A fork made inside a host function leaves the child on a thread that is none any more.
    detail::host_function_depth = 0;
    for (auto& handler : handlers) {
        if (auto* call = handler.load(std::memory_order_relaxed)) call();
    }
}

// Waits, bounded, for functions inside the gate, but not for the one that called exit itself.
void wait_for_others_in_gate() noexcept {
    const std::uint64_t own = in_host_function() ? 1 : 0;
    const auto limit = std::chrono::steady_clock::now() + exit_limit();
    while (gate().uses() > own && std::chrono::steady_clock::now() < limit) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

// Functions that have not started never run: what they refer to is about to be destroyed.
void mark_end() noexcept {
    set_exiting();
    const bool waited_before = gate().is_closed();  // by the interpreter's exit
    gate().close();
    if (!waited_before && !forked()) {
        wait_for_others_in_gate();
        drop_all();  // counted; what they hold is left alone
    }
    detail::condition.fetch_or(detail::ending_bit);
}

void register_fork_handler() {
    static std::once_flag once;
    std::call_once(once, [] { pthread_atfork(nullptr, nullptr, &mark_child); });
}

// Exit handlers run newest first: ours, registered after the driver's own, comes before them.
void register_exit_handler() {
    static std::once_flag once;
    std::call_once(once, [] { std::atexit(&mark_end); });
}

}  // namespace

void set_exiting() noexcept {
    detail::condition.fetch_or(detail::exiting_bit);
}

status enter_driver() {
    if (forked()) return refuse(misuse::forked);
    if (detail::has(detail::not_loaded)) {
        register_fork_handler();
        driver_library::load();
        register_exit_handler();
        detail::condition.fetch_and(~unsigned{detail::not_loaded});
    }
    return may_enter();
}

status may_enter() noexcept {
    if (forked()) return refuse(misuse::forked);
    if (in_host_function()) return refuse(misuse::in_host_function);
    if (process_ending()) return refuse(misuse::exiting);
    return {};
}

status enter_for_launch_slowly() {
    const status s = enter_driver();
    return s.ok() && exiting() ? refuse(misuse::exiting) : s;
}

void detail::end_thread() noexcept {
    syscall(SYS_exit, 0);
}

void on_fork_child(void (*handler)()) noexcept {
    register_fork_handler();
    const unsigned slot = handler_count.fetch_add(1);
    if (slot < handlers.size()) handlers[slot].store(handler);
}

}  // namespace hostlaunch::core
