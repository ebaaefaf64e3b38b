// SPDX-License-Identifier: Apache-2.0
// The knobs of control.hpp that steer the engine: sticky errors, threads, launches, stepping.
#include "embedded/controls/engine_control.hpp"

#include <chrono>
#include <cstring>

#include "embedded/control.hpp"
#include "embedded/engine/driver.hpp"
#include "embedded/engine/executor.hpp"
#include "embedded/engine/process.hpp"
#include "embedded/engine/queues.hpp"
#include "embedded/engine/waits.hpp"
#include "embedded/entry_points.hpp"

namespace hostlaunch::embedded {

namespace {

// The exported numbers are the engine's.
static_assert(int{hostlaunch_embedded_threads_per_context} == int{threads_per_context} &&
              int{hostlaunch_embedded_threads_per_stream} == int{threads_per_stream} &&
              int{hostlaunch_embedded_threads_fresh} == int{threads_fresh});
static_assert(int{hostlaunch_embedded_launch_queues} == int{launch_queues} &&
              int{hostlaunch_embedded_launch_waits_running} == int{launch_waits_running} &&
              int{hostlaunch_embedded_launch_waits_done} == int{launch_waits_done} &&
              int{hostlaunch_embedded_launch_bounded} == int{launch_bounded});

steady_time after(int timeout_ms) {
    return std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
}

std::int64_t count_allocations(const driver& d, bool on_host) {
    std::int64_t count = 0;
    for (const auto& [address, a] : d.memory) {
        count += a.on_host == on_host ? 1 : 0;
    }
    return count;
}

}  // namespace

void reset_engine_knobs() {
    driver& d = the_driver();
    const lock held(d.mutex);
    d.thread_mode = threads_per_context;
    d.launch_mode = launch_queues;
    d.launch_depth = 0;
    d.manual = false;
    d.steps = 0;
    wake_executors();
    d.progress.notify_all();
}

}  // namespace hostlaunch::embedded

namespace embedded = hostlaunch::embedded;

extern "C" {

HOSTLAUNCH_EMBEDDED_EXPORT void hostlaunch_embedded_sticky_error(int result) {
    embedded::lock held(embedded::the_driver().mutex);
    if (result == embedded::success || embedded::the_driver().sticky.load() != embedded::success) {
        return;  // the first one stays
    }
    embedded::make_sticky(held, result);
    embedded::set_attention(embedded::attention_sticky, true);
}

HOSTLAUNCH_EMBEDDED_EXPORT void hostlaunch_embedded_set_threads(int mode) {
    const embedded::lock held(embedded::the_driver().mutex);
    embedded::the_driver().thread_mode = mode;
}

HOSTLAUNCH_EMBEDDED_EXPORT void hostlaunch_embedded_set_launch(int mode, int depth) {
    embedded::driver& d = embedded::the_driver();
    const embedded::lock held(d.mutex);
    d.launch_mode = mode;
    d.launch_depth = depth;
    d.progress.notify_all();
}

HOSTLAUNCH_EMBEDDED_EXPORT void hostlaunch_embedded_set_manual(int on) {
    embedded::driver& d = embedded::the_driver();
    const embedded::lock held(d.mutex);
    d.manual = on != 0;
    d.steps = 0;
    embedded::wake_executors();
}

HOSTLAUNCH_EMBEDDED_EXPORT int hostlaunch_embedded_step(int n, int timeout_ms) {
    embedded::driver& d = embedded::the_driver();
    const auto deadline = embedded::after(timeout_ms);
    embedded::lock held(d.mutex);
    const std::uint64_t begin = d.ended;
    const auto ran = [&] { return static_cast<int>(d.ended - begin); };
    d.steps += n;
    embedded::wake_executors();
    ++d.progress_waiters;
    d.progress.wait_until(held, deadline, [&] { return ran() >= n; });
    --d.progress_waiters;
    d.steps = 0;  // what did not start in time does not start later
    return ran();
}

HOSTLAUNCH_EMBEDDED_EXPORT std::int64_t hostlaunch_embedded_live(const char* what) {
    using embedded::handle_kind;
    embedded::driver& d = embedded::the_driver();
    const embedded::lock held(d.mutex);
    const auto is = [&](const char* name) { return what != nullptr && !std::strcmp(what, name); };
    if (is("streams")) {
        return d.handles.live(handle_kind::stream);
    }
    if (is("events")) {
        return d.handles.live(handle_kind::event);
    }
    if (is("graphs")) {
        return d.handles.live(handle_kind::graph);
    }
    if (is("graph_execs")) {
        return d.execs;
    }
    if (is("user_objects")) {
        return d.user_objects;
    }
    if (is("destructors")) {
        return static_cast<std::int64_t>(d.destructors_run);
    }
    if (is("pending")) {
        return d.pending;
    }
    if (is("device_memory") || is("host_memory")) {
        return embedded::count_allocations(d, is("host_memory"));
    }
    return -1;
}

HOSTLAUNCH_EMBEDDED_EXPORT int hostlaunch_embedded_wait_idle(int timeout_ms) {
    embedded::lock held(embedded::the_driver().mutex);
    return embedded::wait_for_everything(held, embedded::after(timeout_ms)) ? 0 : 1;
}

}  // extern "C"
