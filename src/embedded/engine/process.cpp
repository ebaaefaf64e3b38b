// SPDX-License-Identifier: Apache-2.0
// cuInit, and what happens at fork and at exit.
//
// fork: the prepare handler takes the driver's mutex, so the child never inherits it locked. A
// child of an initialised process is marked, and its calls are answered at the door (entries/door)
// without touching the parent's queues.
// exit: a handler registered by cuInit stops the start of host functions; later calls return
// DEINITIALIZED. Nothing is destroyed.
#include "embedded/engine/process.hpp"

#include <pthread.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "driver/settings.hpp"
#include "embedded/engine/driver.hpp"

namespace hostlaunch::embedded {

std::atomic<unsigned> attention_bits{attention_not_initialized};

namespace {

void before_fork() {
    the_driver().mutex.lock();
}

void after_fork_in_parent() {
    the_driver().mutex.unlock();
}

void after_fork_in_child() {
    if ((attention_bits.load(std::memory_order_relaxed) & attention_not_initialized) == 0) {
        set_attention(attention_forked, true);
    }
    after_fork_in_parent();
}

void at_exit() {
    the_driver().exiting.store(true, std::memory_order_relaxed);
    set_attention(attention_exiting, true);
}

// Without this memory there is no driver: the process may end.
// NOLINTNEXTLINE(bugprone-throwing-static-initialization)
driver* const instance = new driver;

[[maybe_unused]] const int fork_handlers =
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);

int device_count() {
    const char* said = settings::text("HOSTLAUNCH_EMBEDDED_DEVICES");
    if (said == nullptr) {
        return 1;
    }
    constexpr double most = 64;
    const std::optional<double> count = settings::number(said, 0, most);
    if (!count || *count != std::floor(*count)) {
        std::fprintf(
            stderr,
            "hostlaunch: HOSTLAUNCH_EMBEDDED_DEVICES is \"%s\", not a number from 0 to %.0f;"
            " the embedded driver has 1 device\n",
            said, most);
        return 1;
    }
    return static_cast<int>(*count);
}

}  // namespace

driver& the_driver() {
    return *instance;
}

result initialize(unsigned flags) {
    if (flags != 0) {
        return error_invalid_value;
    }
    driver& d = the_driver();
    const lock held(d.mutex);
    if (!d.devices.empty()) {
        return success;
    }
    const int count = device_count();
    if (count == 0) {
        return error_no_device;
    }
    d.devices.resize(static_cast<std::size_t>(count));
    std::atexit(at_exit);
    set_attention(attention_not_initialized, false);
    return success;
}

}  // namespace hostlaunch::embedded
