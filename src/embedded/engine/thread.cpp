// SPDX-License-Identifier: Apache-2.0
// The state of the threads that call the driver, and the start of the driver's own.
#include "embedded/engine/thread.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>

#include "embedded/engine/driver.hpp"
#include "embedded/engine/process.hpp"
#include "embedded/engine/queues.hpp"

namespace hostlaunch::embedded {

namespace {

thread_local thread_state* current_thread = nullptr;
thread_local std::uint64_t current_id = 0;
thread_local bool runs_host_functions = false;

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

pthread_key_t make_key() noexcept {
    pthread_key_t key{};
    pthread_key_create(&key, leave_thread);
    return key;
}

const pthread_key_t thread_end = make_key();

// The child's only thread has an id of its own.
[[maybe_unused]] const int fork_handler = pthread_atfork(nullptr, nullptr, [] { current_id = 0; });

}  // namespace

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

bool start_thread(void* (*body)(void*), void* argument, std::size_t stack_bytes) {
    sigset_t others;
    sigset_t before;
    sigfillset(&others);
    for (const int crash : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) {
        sigdelset(&others, crash);  // the kernel ends a process that blocks them unheard
    }
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (stack_bytes != 0) {
        pthread_attr_setstacksize(&attributes, stack_bytes);
    }
    pthread_sigmask(SIG_SETMASK, &others, &before);
    pthread_t thread;
    const int failed = pthread_create(&thread, &attributes, body, argument);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    return failed == 0;
}

}  // namespace hostlaunch::embedded
