// SPDX-License-Identifier: Apache-2.0
// The fork handler is registered at the first need of it, the exit handler behind the driver's own.
#include "core/lifecycle.hpp"

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "core/process/gate.hpp"
#include "core/process/monitor.hpp"
#include "core/routes/routes.hpp"
#include "core/task/outcomes.hpp"
#include "core/task/release.hpp"
#include "core/task/trace.hpp"
#include "driver/driver.hpp"
#include "driver/settings.hpp"

namespace hostlaunch::core {

namespace {

using std::chrono::milliseconds;

// Written before the fork handler can run, or by a thread that holds no fork in progress.
std::array<std::atomic<void (*)()>, 8> handlers{};
std::atomic<unsigned> handler_count{0};

// Set before main or by a program's first thread; called by each thread that loads the driver.
constinit std::atomic<void (*)() noexcept> when_loaded{nullptr};

void mark_child() noexcept {
    // A driver that nobody had begun to initialise before the fork can be in the child.
    if (driver_library::is_loaded() || driver_library::is_loading()) {
        set_forked();
        // A fork made inside a host function returns to the driver's thread, which may go on.
        gate().close();
        forget_releases();
        monitor::forget();
    }
    trace::forget();
    // A fork made inside a host function leaves the child on a thread that is none any more.
    leave_host_functions();
    for (auto& handler : handlers) {
        if (auto* call = handler.load(std::memory_order_relaxed)) call();
    }
}

// Functions that have not started never run: what they refer to is about to be destroyed. What is
// dropped here is counted; what it holds is left alone.
void mark_end() noexcept {
    const bool waited_before = gate().is_closed();  // by the interpreter's exit
    lifecycle::refuse();
    lifecycle::close();
    if (!waited_before && !forked()) {
        lifecycle::wait_until(lifecycle::exit_deadline(), [](milliseconds pause) {
            if (!lifecycle::still_running()) return false;
            std::this_thread::sleep_for(pause);
            return true;
        });
        lifecycle::drop_rest();
    }
    set_ending();
}

void register_fork_handler() {
    static std::once_flag once;
    std::call_once(once, [] { pthread_atfork(nullptr, nullptr, &mark_child); });
}

// Exit handlers run newest first: ours, registered after the driver's own, comes before them.
void prepare() {
    static std::once_flag once;
    std::call_once(once, [] {
        add_relaxed_capture_duty();
        routes::add_duties();
        add_release_duty();
        std::atexit(&mark_end);
    });
}

}  // namespace

status enter_driver() {
    if (forked()) return refuse(misuse::forked);
    if (detail::has(detail::not_loaded)) {
        register_fork_handler();
        driver_library::load();
        prepare();
        set_loaded();
        if (auto* begin = when_loaded.load()) begin();
    }
    return may_enter();
}

// Not before all is prepared: duties are registered before the first launch.
bool has_driver() noexcept {
    return !detail::has(detail::not_loaded);
}

driver_info driver_in_use() {
    const driver_library::library& lib = driver_library::load();
    const char* name = lib.which == driver_library::kind::embedded ? "embedded" : "cuda";
    return {name, lib.version, lib.path, lib.fallback_reason};
}

const char* setting(const char* name) noexcept {
    return settings::text(name);
}

status enter_for_launch_slow() {
    const status s = enter_driver();
    return s.ok() && exiting() ? refuse(misuse::exiting) : s;
}

void on_loaded(void (*begin)() noexcept) noexcept {
    when_loaded.store(begin);
}

void on_fork_child(void (*handler)()) noexcept {
    register_fork_handler();
    const unsigned slot = handler_count.fetch_add(1);
    if (slot < handlers.size()) handlers[slot].store(handler);
}

namespace lifecycle {

void refuse() noexcept {
    set_exiting();
}

void close() noexcept {
    gate().close();
}

// The gate is closed in a forked child too, and by an exit of the process on another thread.
bool still_pending() noexcept {
    return !gate().is_closed() && !in_host_function() && any_outstanding(false);
}

// Exit may be called by a function inside the gate, which does not wait for itself.
bool still_running() noexcept {
    const std::uint64_t own = in_host_function() ? 1 : 0;
    return !forked() && (gate().uses() > own || routes::awaited_at_exit());
}

std::uint64_t drop_rest() noexcept {
    monitor::stop(milliseconds(1000));
    return routes::drop_all();
}

}  // namespace lifecycle
}  // namespace hostlaunch::core
