// SPDX-License-Identifier: Apache-2.0
// cuInit, what happens at fork and at exit, and the state of threads.
//
// fork: the prepare handler takes both of the library's mutexes, so the child never inherits one
// that is locked. A child of an initialised process is marked, and its calls are answered at the
// entry (entry.cpp) without touching the parent's queues.
// exit: a handler registered by cuInit stops the start of host functions; later calls return
// DEINITIALIZED. Nothing is destroyed.
#include "embedded/process.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "embedded/driver.hpp"
#include "embedded/knobs.hpp"

namespace hostlaunch::embedded {

std::atomic<unsigned> attention_bits{attention_not_initialized};

namespace {

thread_local thread_state* current_thread = nullptr;
thread_local std::uint64_t current_id = 0;
thread_local bool runs_host_functions = false;

pthread_key_t thread_end;
std::atomic<thread_state*> all_threads{nullptr};

// Acquire partners with the release in leave_thread.
thread_state& take_thread_state() {
    for (auto* s = all_threads.load(std::memory_order_acquire); s != nullptr; s = s->next) {
        bool free = false;
        if (s->used.compare_exchange_strong(free, true, std::memory_order_acquire)) {
            return *s;
        }
    }
    auto* fresh = new thread_state;
    fresh->next = all_threads.load(std::memory_order_relaxed);
    while (!all_threads.compare_exchange_weak(fresh->next, fresh, std::memory_order_release)) {
    }
    return *fresh;
}

void leave_thread(void* argument) {
    auto* state = static_cast<thread_state*>(argument);
    current_thread = nullptr;
    if (!in_forked_child()) {
        lock held(the_driver().mutex);
        for (const auto& [ctx, s] : state->own_streams) {
            result why;
            if (the_driver().handles.find(handle_kind::context, handle_bits(ctx), why) != nullptr) {
                s->destroyed = true;
                retire_if_done(*s);
            }
        }
    }
    state->current.clear();
    state->own_streams.clear();
    state->mode = capture_mode::global;
    state->used.store(false, std::memory_order_release);
}

void before_fork() {
    the_driver().mutex.lock();
    the_knobs().mutex.lock();
}

void after_fork_in_parent() {
    the_knobs().mutex.unlock();
    the_driver().mutex.unlock();
}

void after_fork_in_child() {
    current_id = 0;
    end_all_holds();
    if ((attention_bits.load(std::memory_order_relaxed) & attention_not_initialized) == 0) {
        set_attention(attention_forked, true);
    }
    after_fork_in_parent();
}

void at_exit() {
    the_driver().exiting.store(true, std::memory_order_relaxed);
    set_attention(attention_exiting, true);
}

driver* make_driver() {
    static driver* made = [] {
        auto* d = new driver;
        pthread_key_create(&thread_end, leave_thread);
        return d;
    }();
    return made;
}

// Without this memory there is no driver: the process may end.
// NOLINTNEXTLINE(bugprone-throwing-static-initialization)
driver* const instance = make_driver();

[[maybe_unused]] const int fork_handlers =
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);

int device_count() {
    const char* text = std::getenv("HOSTLAUNCH_EMBEDDED_DEVICES");
    if (text == nullptr) {
        return 1;
    }
    constexpr long most = 64;
    char* end = nullptr;
    errno = 0;
    const long count = std::strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || count < 0 || count > most) {
        std::fprintf(
            stderr,
            "hostlaunch: HOSTLAUNCH_EMBEDDED_DEVICES is \"%s\", not a number from 0 to %ld;"
            " the embedded driver has 1 device\n",
            text, most);
        return 1;
    }
    return static_cast<int>(count);
}

}  // namespace

driver& the_driver() {
    return *instance;
}

thread_state& this_thread() {
    if (current_thread == nullptr) {
        current_thread = &take_thread_state();
        pthread_setspecific(thread_end, current_thread);
    }
    return *current_thread;
}

std::uint64_t thread_id() {
    if (current_id == 0) {
        current_id = static_cast<std::uint64_t>(syscall(SYS_gettid));
    }
    return current_id;
}

bool inside_host_function() {
    return runs_host_functions;
}

void set_inside_host_function(bool inside) {
    runs_host_functions = inside;
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
