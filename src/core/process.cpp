// SPDX-License-Identifier: Apache-2.0
// The fork and exit handlers are registered when the driver is first loaded.
#include "core/process.hpp"

#include <pthread.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "core/gate.hpp"
#include "driver/driver.hpp"

namespace hostlaunch::core {

namespace detail {
thread_local int host_function_depth = 0;
std::atomic<bool> forked{false};
std::atomic<bool> exiting{false};
std::atomic<bool> ending{false};
}  // namespace detail

namespace {

// Written before the fork handler can run, or by a thread that holds no fork in progress.
std::array<std::atomic<void (*)()>, 8> handlers{};
std::atomic<unsigned> handler_count{0};

void mark_child() noexcept {
    if (!driver_library::is_loaded()) return;  // the driver was not initialised: the child starts afresh
    detail::forked.store(true, std::memory_order_relaxed);
    // A fork made inside a host function leaves the child on a thread that is none any more.
    detail::host_function_depth = 0;
    for (auto& handler : handlers) {
        if (auto* call = handler.load(std::memory_order_relaxed)) call();
    }
}

// Waits, bounded, for functions that are running, but not for the one that called exit itself.
void wait_for_running() noexcept {
    const std::uint64_t own = in_host_function() ? 1 : 0;
    const auto limit = std::chrono::steady_clock::now() + exit_limit();
    while (gate().uses() > own && std::chrono::steady_clock::now() < limit) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

// Functions that have not started never run: what they refer to is about to be destroyed.
void mark_end() noexcept {
    detail::exiting.store(true);
    const bool waited_before = gate().is_closed();  // by the interpreter's exit
    gate().close();
    if (!waited_before && !forked()) wait_for_running();
    detail::ending.store(true, std::memory_order_relaxed);
}

// Exit handlers run newest first: ours, registered after the driver's own, comes before them.
void register_handlers() {
    static std::once_flag once;
    std::call_once(once, [] {
        pthread_atfork(nullptr, nullptr, &mark_child);
        std::atexit(&mark_end);
    });
}

}  // namespace

void set_exiting() noexcept { detail::exiting.store(true); }

status enter_driver() {
    if (!driver_library::is_loaded()) {
        driver_library::load();
        register_handlers();
    }
    return may_enter();
}

void on_fork_child(void (*handler)()) noexcept {
    const unsigned slot = handler_count.fetch_add(1);
    if (slot < handlers.size()) handlers[slot].store(handler);
}

}  // namespace hostlaunch::core
