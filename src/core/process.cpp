// SPDX-License-Identifier: Apache-2.0
// The fork and exit handlers are registered when the driver is first loaded.
#include "core/process.hpp"

#include <pthread.h>

#include <array>
#include <cstdlib>
#include <mutex>

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

void mark_end() noexcept {
    detail::exiting.store(true);
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
