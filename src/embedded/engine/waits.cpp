// SPDX-License-Identifier: Apache-2.0
// Marks on streams and events, and the threads that block until theirs are reached.
#include "embedded/engine/waits.hpp"

#include "embedded/engine/driver.hpp"
#include "embedded/engine/pools.hpp"
#include "embedded/engine/queues.hpp"
#include "embedded/engine/user_objects.hpp"

namespace hostlaunch::embedded {

namespace {

constexpr auto relaxed = std::memory_order_relaxed;

mark& new_mark(driver& d) {
    reserve_marks(1);
    mark& m = *d.free_marks;
    d.free_marks = m.next;
    --d.free_mark_count;
    m.next = nullptr;
    return m;
}

void free_mark(driver& d, mark& m) {
    m.next = d.free_marks;
    d.free_marks = &m;
    ++d.free_mark_count;
}

void free_gate(driver& d, thread_gate& g) {
    g.next = d.free_gates;
    d.free_gates = &g;
}

void count_down(driver& d, gate& waiting) {
    if (--waiting.outstanding > 0) {
        return;
    }
    if (waiting.owner != nullptr) {
        schedule(*waiting.owner);
        return;
    }
    auto& thread = static_cast<thread_gate&>(waiting);
    if (thread.abandoned) {
        free_gate(d, thread);
    } else {
        thread.wakes.notify_all();
    }
}

thread_gate& new_gate(driver& d) {
    if (d.free_gates == nullptr) {
        return *new thread_gate;
    }
    thread_gate& g = *d.free_gates;
    d.free_gates = g.next;
    g.outstanding = 0;
    g.abandoned = false;
    return g;
}

void link(driver& d, thread_gate& g) {
    g.previous = nullptr;
    g.next = d.waiting_threads;
    if (g.next != nullptr) {
        g.next->previous = &g;
    }
    d.waiting_threads = &g;
}

void unlink(driver& d, thread_gate& g) {
    (g.previous == nullptr ? d.waiting_threads : g.previous->next) = g.next;
    if (g.next != nullptr) {
        g.next->previous = g.previous;
    }
}

enum class on_error { leave, stay };

// Blocks until all marks of the gate are reached, or the deadline has passed, or (unless it stays)
// there is a sticky error. The gate is spent. False if marks are left.
bool wait(lock& held, driver& d, thread_gate& g, on_error then,
          const steady_time* deadline = nullptr) {
    link(d, g);
    while (g.outstanding > 0 && (then == on_error::stay || d.sticky.load(relaxed) == success)) {
        if (deadline == nullptr) {
            g.wakes.wait(held);
        } else if (g.wakes.wait_until(held, *deadline) == std::cv_status::timeout) {
            break;
        }
    }
    unlink(d, g);
    if (g.outstanding > 0) {
        g.abandoned = true;
        return false;
    }
    free_gate(d, g);
    return true;
}

void await(stream_state& s, thread_gate& g) {
    if (!s.idle()) {
        add_mark(s.marks, s.enqueued, g);
    }
}

bool wait_destructors(lock& held, driver& d, const steady_time& deadline) {
    ++d.progress_waiters;
    const bool done =
        d.progress.wait_until(held, deadline, [&] { return destructors_are_done(d); });
    --d.progress_waiters;
    return done;
}

}  // namespace

void reserve_marks(std::size_t count) {
    driver& d = the_driver();
    while (d.free_mark_count < count) {
        constexpr std::size_t chunk = 64;
        auto* fresh = new mark[chunk];  // never freed: see driver::free_operations
        for (std::size_t i = 0; i < chunk; ++i) {
            free_mark(d, fresh[i]);
        }
    }
}

void add_mark(mark_list& marks, std::uint64_t target, gate& waiting) {
    mark& m = new_mark(the_driver());
    m.target = target;
    m.waiting = &waiting;
    ++waiting.outstanding;
    (marks.tail == nullptr ? marks.head : marks.tail->next) = &m;
    marks.tail = &m;
}

void reach_marks(mark_list& marks, std::uint64_t completed) {
    driver& d = the_driver();
    while (marks.head != nullptr && marks.head->target <= completed) {
        mark& m = *marks.head;
        marks.head = m.next;
        gate& waiting = *m.waiting;
        free_mark(d, m);
        count_down(d, waiting);
    }
    if (marks.head == nullptr) {
        marks.tail = nullptr;
    }
}

// Records of one event in different streams complete in any order.
void reach_event_marks(event_state& e, std::uint64_t record) {
    driver& d = the_driver();
    mark** place = &e.marks.head;
    e.marks.tail = nullptr;
    while (*place != nullptr) {
        mark& m = **place;
        if (m.target == record) {
            *place = m.next;
            gate& waiting = *m.waiting;
            free_mark(d, m);
            count_down(d, waiting);
        } else {
            e.marks.tail = &m;
            place = &m.next;
        }
    }
}

bool uses_memory(const stream_state& s, std::uintptr_t first, std::size_t bytes) {
    for (const operation* o = s.head; o != nullptr; o = o->next) {
        if (touches(o->what, first, bytes)) {
            return true;
        }
    }
    return false;
}

result wait_for_stream(lock& held, stream_state& s) {
    driver& d = the_driver();
    thread_gate& g = new_gate(d);
    await(s, g);
    if (s.is_legacy) {
        for (stream_state* other : s.ctx->streams) {
            if (other->is_blocking()) {
                await(*other, g);
            }
        }
    }
    wait(held, d, g, on_error::leave);
    trim_pools();
    return d.sticky.load(relaxed);
}

result wait_for_context(lock& held, context_state& ctx) {
    driver& d = the_driver();
    thread_gate& g = new_gate(d);
    for (stream_state* s : ctx.streams) {
        await(*s, g);
    }
    wait(held, d, g, on_error::leave);
    trim_pools();
    return d.sticky.load(relaxed);
}

result wait_for_users(lock& held, context_state& ctx, std::uintptr_t first, std::size_t bytes) {
    driver& d = the_driver();
    thread_gate& g = new_gate(d);
    for (context_state* c : d.contexts) {
        for (stream_state* s : c->streams) {
            if (c == &ctx || uses_memory(*s, first, bytes)) {
                await(*s, g);
            }
        }
    }
    wait(held, d, g, on_error::leave);
    return d.sticky.load(relaxed);
}

result wait_for_event(lock& held, event_state& e) {
    driver& d = the_driver();
    thread_gate& g = new_gate(d);
    if (!e.done) {
        add_mark(e.marks, e.last_record, g);
    }
    wait(held, d, g, on_error::leave);
    trim_pools();
    return d.sticky.load(relaxed);
}

void wait_for_work(lock& held, const context_state& ctx) {
    driver& d = the_driver();
    thread_gate& g = new_gate(d);
    for (stream_state* s : ctx.streams) {
        await(*s, g);
    }
    wait(held, d, g, on_error::stay);
}

bool wait_for_everything(lock& held, steady_time deadline) {
    driver& d = the_driver();
    while (d.queued > 0 || !destructors_are_done(d)) {
        thread_gate& g = new_gate(d);
        for (context_state* ctx : d.contexts) {
            for (stream_state* s : ctx->streams) {
                await(*s, g);
            }
        }
        if (!wait(held, d, g, on_error::stay, &deadline) || !wait_destructors(held, d, deadline)) {
            return false;
        }
    }
    return true;
}

}  // namespace hostlaunch::embedded
