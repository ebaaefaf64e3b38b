// SPDX-License-Identifier: Apache-2.0
// Moves work through the streams: ordering, execution of everything but host functions, errors.
//
// A stream's head is executed by the thread that makes it ready: the one that enqueues it, ends
// the host function before it, or completes what its barrier waits for. Streams that became ready
// on the way go through one list (`schedule`, `drain`), so nothing here recurses.
#include "embedded/engine/queues.hpp"

#include <cstdlib>
#include <ctime>

#include "embedded/engine/driver.hpp"
#include "embedded/engine/execs.hpp"
#include "embedded/engine/executor.hpp"
#include "embedded/engine/poller.hpp"
#include "embedded/engine/waits.hpp"

namespace hostlaunch::embedded {

namespace {

// Copies of more bytes run with the mutex released.
constexpr std::size_t inline_bytes = 4096;

void free_operation(driver& d, operation& op) {
    op.next = d.free_operations;
    d.free_operations = &op;
    ++d.free_operation_count;
}

operation& new_operation(driver& d) {
    operation& op = *d.free_operations;
    d.free_operations = op.next;
    --d.free_operation_count;
    op.next = nullptr;
    op.join = gate{};
    return op;
}

void append(driver& d, stream_state& s, operation& op) {
    (s.tail == nullptr ? s.head : s.tail->next) = &op;
    s.tail = &op;
    ++s.enqueued;
    ++d.queued;
    const work_kind kind = op.what.kind;
    if (kind == work_kind::host || kind == work_kind::callback) {
        ++d.pending;
        ++s.ctx->pending;
    } else if (kind == work_kind::record) {
        ++op.what.record.target->pending_records;
    }
    if (s.head == &op) {
        schedule(s);
    }
}

operation& new_barrier(driver& d) {
    operation& op = new_operation(d);
    op.what.kind = work_kind::barrier;
    return op;
}

void await_streams(operation& barrier, stream_state& owner, stream_state& awaited) {
    barrier.join.owner = &owner;
    add_mark(awaited.marks, awaited.enqueued, barrier.join);
}

// The default-stream rule: the legacy stream and its context's blocking streams wait for each
// other.
void push_implicit_barrier(driver& d, stream_state& s) {
    operation* barrier = nullptr;
    if (s.is_legacy) {
        for (stream_state* other : s.ctx->streams) {
            if (other->is_blocking() && !other->idle() &&
                other->legacy_waits_for < other->enqueued) {
                barrier = barrier == nullptr ? &new_barrier(d) : barrier;
                await_streams(*barrier, s, *other);
                other->legacy_waits_for = other->enqueued;
            }
        }
    } else if (s.is_blocking()) {
        stream_state& legacy = *s.ctx->legacy;
        if (!legacy.idle() && s.waits_for_legacy < legacy.enqueued) {
            barrier = &new_barrier(d);
            await_streams(*barrier, s, legacy);
            s.waits_for_legacy = legacy.enqueued;
        }
    }
    if (barrier != nullptr) {
        append(d, s, *barrier);
    }
}

void run_memory_operation(lock& held, driver& d, stream_state& s) {
    const work w = s.head->what;
    if (d.sticky.load(std::memory_order_relaxed) == success) {
        if (bytes_of(w) > inline_bytes) {
            s.busy = true;
            held.unlock();
            move_bytes(w);
            held.lock();
            s.busy = false;
        } else {
            move_bytes(w);
        }
    }
    if (w.kind == work_kind::copy) {
        std::free(w.copy.staging);
    }
}

void complete_record(const work::record_work& w) {
    event_state& e = *w.target;
    if (w.id == e.last_record) {
        e.done = true;
        if ((e.flags & event_disable_timing) == 0) {
            timespec now{};
            clock_gettime(CLOCK_MONOTONIC, &now);
            e.nanoseconds = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
        }
    }
    reach_event_marks(e, w.id);
    if (--e.pending_records == 0 && e.destroyed) {
        delete &e;
    }
}

void write_value(driver& d, const work::value_work& w) {
    if (d.sticky.load(std::memory_order_relaxed) != success) {
        return;
    }
    store_value(w);
    for (stream_state* s = d.polling; s != nullptr; s = s->next_polling) {
        schedule(*s);
    }
}

// Runs the head if it is ready. False if it has to wait for somebody.
bool run_head(lock& held, driver& d, stream_state& s) {
    const bool failed = d.sticky.load(std::memory_order_relaxed) != success;
    operation& op = *s.head;
    switch (op.what.kind) {
        case work_kind::host:
            if (!failed) {
                offer(s);
                return false;
            }
            --d.pending;
            --s.ctx->pending;
            return true;
        case work_kind::callback:
            offer(s);
            return false;
        case work_kind::barrier:
            return op.join.outstanding == 0;
        case work_kind::record:
            complete_record(op.what.record);
            return true;
        case work_kind::copy:
        case work_kind::fill:
            run_memory_operation(held, d, s);
            return true;
        case work_kind::wait_value:
            if (!failed && !value_is_reached(op.what.value)) {
                start_polling(s);
                return false;
            }
            stop_polling(s);
            return true;
        case work_kind::write_value:
            write_value(d, op.what.value);
            return true;
        case work_kind::give_back:
            complete_free(op.what.give_back);
            return true;
        case work_kind::end_launch:
            complete_launch(op.what.launch);
            return true;
    }
    return true;
}

void advance(lock& held, driver& d, stream_state& s) {
    while (!s.busy && !s.offered && s.head != nullptr) {
        if (!run_head(held, d, s)) {
            return;
        }
        finish_head(s);
    }
    retire_if_done(s);
}

}  // namespace

void reserve_operations(const stream_state& s, std::size_t count, std::size_t marks) {
    driver& d = the_driver();
    while (d.free_operation_count < count + 1) {
        constexpr std::size_t chunk = 64;
        auto* fresh = new operation[chunk];  // never freed: see driver::free_operations
        for (std::size_t i = 0; i < chunk; ++i) {
            free_operation(d, fresh[i]);
        }
    }
    reserve_marks(marks + (s.is_legacy ? s.ctx->streams.size() : 1));
}

void begin_append(stream_state& s) {
    push_implicit_barrier(the_driver(), s);
}

void append_work(stream_state& s, const work& what) {
    driver& d = the_driver();
    operation& op = new_operation(d);
    op.what = what;
    append(d, s, op);
}

void append_values(stream_state& s, const value_params* values, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        if (is_value(values[i])) {  // a barrier says no more than the order that there is
            append_work(s, value_of(values[i]));
        }
    }
}

void append_barrier(stream_state& s, mark_list& marks, std::uint64_t target) {
    driver& d = the_driver();
    operation& barrier = new_barrier(d);
    barrier.join.owner = &s;
    add_mark(marks, target, barrier.join);
    append(d, s, barrier);
}

void append_event_wait(stream_state& s, event_state& e) {
    if (!e.done) {
        append_barrier(s, e.marks, e.last_record);
    }
}

void append_record(stream_state& s, event_state& e) {
    ++e.last_record;
    e.done = false;
    work w{};
    w.kind = work_kind::record;
    w.record = {&e, e.last_record};
    append_work(s, w);
}

void push(lock& held, stream_state& s, const work& what) {
    reserve_operations(s, 1, 0);
    begin_append(s);
    append_work(s, what);
    drain(held);
}

void push_event_wait(lock& held, stream_state& s, event_state& e) {
    if (e.done) {
        return;
    }
    reserve_operations(s, 1, 1);
    begin_append(s);
    append_event_wait(s, e);
    drain(held);
}

void push_record(lock& held, stream_state& s, event_state& e) {
    reserve_operations(s, 1, 0);
    begin_append(s);
    append_record(s, e);
    drain(held);
}

void schedule(stream_state& s) {
    if (s.runnable) {
        return;
    }
    driver& d = the_driver();
    s.runnable = true;
    s.next_runnable = nullptr;
    (d.runnable_tail == nullptr ? d.runnable_head : d.runnable_tail->next_runnable) = &s;
    d.runnable_tail = &s;
}

void drain(lock& held) {
    driver& d = the_driver();
    while (d.runnable_head != nullptr) {
        stream_state& s = *d.runnable_head;
        d.runnable_head = s.next_runnable;
        d.runnable_tail = d.runnable_head == nullptr ? nullptr : d.runnable_tail;
        s.runnable = false;
        advance(held, d, s);
    }
}

void finish_head(stream_state& s) {
    driver& d = the_driver();
    operation& op = *s.head;
    s.head = op.next;
    s.tail = s.head == nullptr ? nullptr : s.tail;
    ++s.completed;
    --d.queued;
    free_operation(d, op);
    reach_marks(s.marks, s.completed);
}

bool is_complete(const stream_state& s) {
    if (!s.idle()) {
        return false;
    }
    if (s.is_legacy) {
        for (const stream_state* other : s.ctx->streams) {
            if (other->is_blocking() && !other->idle()) {
                return false;
            }
        }
    }
    return true;
}

void retire_if_done(stream_state& s) {
    if (!s.destroyed || !s.idle() || s.runnable || s.busy || s.polling) {
        return;
    }
    stop_executor(s.own);
    std::erase(s.ctx->streams, &s);
    delete &s;
}

void make_sticky(lock& held, result error) {
    driver& d = the_driver();
    d.sticky.store(error, std::memory_order_release);
    for (thread_gate* g = d.waiting_threads; g != nullptr; g = g->next) {
        g->wakes.notify_all();
    }
    take_back_offers();
    for (context_state* ctx : d.contexts) {
        for (stream_state* s : ctx->streams) {
            schedule(*s);
        }
    }
    drain(held);
    d.progress.notify_all();
}

}  // namespace hostlaunch::embedded
