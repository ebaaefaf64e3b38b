// SPDX-License-Identifier: Apache-2.0
// The threads that run host functions: one for each context, as measured on a GPU, or as told.
//
// A function that ends its thread (pthread_exit, forced unwinding) takes the executor with it, as
// it would take the real driver's thread: its operation never completes. So no frame around the
// call of a host function catches or is noexcept. The threads are detached and never joined.
#include "embedded/engine/executor.hpp"

#include <pthread.h>

#include "embedded/engine/driver.hpp"
#include "embedded/engine/process.hpp"
#include "embedded/engine/queues.hpp"
#include "embedded/engine/thread.hpp"

namespace hostlaunch::embedded {

namespace {

constexpr auto relaxed = std::memory_order_relaxed;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::size_t fresh_stack_bytes = std::size_t{1} << 20;
#else
// CPython from 3.14 on keeps so much in reserve that with 64 KiB it loses objects that die there.
constexpr std::size_t fresh_stack_bytes = std::size_t{256} << 10;
#endif

struct call {
    work::host_work what;
    result status;
    executor* from = nullptr;
    bool done = false;  // guarded by driver::mutex
};

void make_call(const call& c) {
    if (c.what.fn != nullptr) {
        c.what.fn(c.what.user_data);
    } else {
        c.what.callback(c.what.handle, c.status, c.what.user_data);
    }
}

bool may_start(const driver& d, const executor& e) {
    if (e.ready_head == nullptr || d.exiting.load(relaxed)) {
        return false;
    }
    return !d.manual || d.steps > 0 || d.sticky.load(relaxed) != success;
}

void* fresh_thread(void* argument) {
    set_inside_host_function(true);
    pthread_setname_np(pthread_self(), "hostlaunch-once");
    call& c = *static_cast<call*>(argument);
    make_call(c);
    if (in_forked_child()) {
        return nullptr;
    }
    lock held(the_driver().mutex);
    c.done = true;
    c.from->wakes.notify_all();
    return nullptr;
}

// Runs the call with the mutex released, here or on a thread of its own.
void run_unlocked(lock& held, driver& d, executor& e, call& c) {
    if (d.thread_mode == threads_fresh) {
        c.from = &e;
        if (start_thread(fresh_thread, &c, fresh_stack_bytes)) {
            while (!c.done) {
                e.wakes.wait(held);
            }
            return;
        }
    }
    held.unlock();
    make_call(c);
    if (in_forked_child()) {
        pthread_exit(nullptr);  // the parent's queues are none of the child's business
    }
    held.lock();
}

void run_next(lock& held, driver& d, executor& e) {
    stream_state& s = *e.ready_head;
    e.ready_head = s.next_ready;
    e.ready_tail = e.ready_head == nullptr ? nullptr : e.ready_tail;
    context_state& ctx = *s.ctx;
    call c{s.head->what.host, d.sticky.load(relaxed)};
    if (d.manual && d.steps > 0) {
        --d.steps;
    }
    --d.pending;
    --ctx.pending;
    ++d.running;
    ++ctx.running;
    if (d.progress_waiters > 0) {
        d.progress.notify_all();
    }
    run_unlocked(held, d, e, c);
    --d.running;
    --ctx.running;
    ++d.ended;
    s.offered = false;
    finish_head(s);
    schedule(s);
    drain(held);
    if (d.progress_waiters > 0) {
        d.progress.notify_all();
    }
}

void* executor_thread(void* argument) {
    set_inside_host_function(true);
    pthread_setname_np(pthread_self(), "hostlaunch-fn");
    driver& d = the_driver();
    executor& e = *static_cast<executor*>(argument);
    lock held(d.mutex);
    while (!e.stopping) {
        if (may_start(d, e)) {
            run_next(held, d, e);
        } else {
            e.sleeping = true;
            e.wakes.wait(held);
            e.sleeping = false;
        }
    }
    held.unlock();
    delete &e;
    return nullptr;
}

executor* start_executor() {
    auto* e = new executor;
    if (!start_thread(executor_thread, e, 0)) {
        delete e;
        return nullptr;
    }
    return e;
}

executor& choose(const driver& d, stream_state& s) {
    if (d.thread_mode != threads_per_stream) {
        return *s.ctx->runs;
    }
    if (s.own == nullptr) {
        s.own = start_executor();
    }
    return s.own != nullptr ? *s.own : *s.ctx->runs;
}

void take_back(executor* e) {
    if (e == nullptr) {
        return;
    }
    for (stream_state* s = e->ready_head; s != nullptr; s = s->next_ready) {
        s->offered = false;
    }
    e->ready_head = nullptr;
    e->ready_tail = nullptr;
}

void wake(executor* e) {
    if (e != nullptr) {
        e->wakes.notify_all();
    }
}

template <class Action>
void for_each_executor(Action action) {
    for (context_state* ctx : the_driver().contexts) {
        action(ctx->runs);
        for (stream_state* s : ctx->streams) {
            action(s->own);
        }
    }
}

}  // namespace

bool ensure_executor(context_state& ctx) {
    if (ctx.runs == nullptr) {
        ctx.runs = start_executor();
    }
    return ctx.runs != nullptr;
}

void offer(stream_state& s) {
    executor& e = choose(the_driver(), s);
    s.offered = true;
    s.next_ready = nullptr;
    (e.ready_tail == nullptr ? e.ready_head : e.ready_tail->next_ready) = &s;
    e.ready_tail = &s;
    if (e.sleeping) {
        e.sleeping = false;
        e.wakes.notify_one();
    }
}

void take_back_offers() {
    for_each_executor(take_back);
}

void wake_executors() {
    for_each_executor(wake);
}

void stop_executor(executor* e) {
    if (e != nullptr) {
        e->stopping = true;
        e->wakes.notify_all();
    }
}

}  // namespace hostlaunch::embedded
