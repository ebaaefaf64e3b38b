// SPDX-License-Identifier: Apache-2.0
// Makes, finds and ends contexts, streams and events.
#include "embedded/engine/contexts.hpp"

#include <algorithm>
#include <memory>

#include "embedded/engine/capture.hpp"
#include "embedded/engine/executor.hpp"
#include "embedded/engine/graphs.hpp"
#include "embedded/engine/memory.hpp"
#include "embedded/engine/queues.hpp"
#include "embedded/engine/thread.hpp"
#include "embedded/engine/waits.hpp"

namespace hostlaunch::embedded {

namespace {

template <class T, class Handle>
T* find(handle_kind kind, Handle handle, result& why) {
    return static_cast<T*>(the_driver().handles.find(kind, handle_bits(handle), why));
}

stream_state& add_stream(context_state& ctx, unsigned flags, int priority) {
    auto made = std::make_unique<stream_state>();
    made->ctx = &ctx;
    made->flags = flags;
    made->priority = priority;
    made->id = the_driver().next_id++;
    ctx.streams.push_back(made.get());
    return *made.release();
}

stream_state& own_stream(context_state& ctx) {
    thread_state& thread = this_thread();
    for (const auto& [handle, s] : thread.own_streams) {
        if (handle == ctx.handle) {
            return *s;
        }
    }
    thread.own_streams.reserve(thread.own_streams.size() + 1);
    stream_state& s = add_stream(ctx, stream_default, 0);
    s.handle = stream_per_thread;
    thread.own_streams.emplace_back(ctx.handle, &s);
    return s;
}

bool is_registered(const stream_state& s) {
    return !s.destroyed && !s.is_legacy && s.handle != stream_per_thread;
}

void free_streams(driver& d, context_state& ctx, object_list& due) {
    for (stream_state* s : ctx.streams) {
        abandon_capture(*s, due);
        if (is_registered(*s)) {
            d.handles.orphan(handle_bits(s->handle));
        }
        stop_executor(s->own);
        delete s;
    }
}

void free_events(driver& d, context_state& ctx) {
    for (event_state* e : ctx.events) {
        d.handles.orphan(handle_bits(e->handle));
        delete e;
    }
}

// Whether no thread has anything to do with the stream, so that it can be freed.
bool is_quiet(const stream_state* s) {
    return s->idle() && !s->runnable && !s->busy;
}

// Waits until the context can be freed. Null if another thread has done so meanwhile.
context_state* wait_until_quiet(lock& held, context handle) {
    for (;;) {
        result why;
        context_state* ctx = find_context(handle, why);
        if (ctx == nullptr || std::all_of(ctx->streams.begin(), ctx->streams.end(), is_quiet)) {
            return ctx;
        }
        wait_for_work(held, *ctx);
        drain(held);
    }
}

}  // namespace

context_state* current_context(result& why) {
    const auto& stack = this_thread().current;
    if (stack.empty() || stack.back() == nullptr) {
        why = error_invalid_context;
        return nullptr;
    }
    return find_context(stack.back(), why);
}

context_state* find_context(context ctx, result& why) {
    return find<context_state>(handle_kind::context, ctx, why);
}

event_state* find_event(event e, result& why) {
    return find<event_state>(handle_kind::event, e, why);
}

graph_state* find_graph(graph g, result& why) {
    return find<graph_state>(handle_kind::graph, g, why);
}

stream_state* find_stream(stream s, result& why) {
    if (s != nullptr && s != stream_legacy && s != stream_per_thread) {
        return find<stream_state>(handle_kind::stream, s, why);
    }
    context_state* ctx = current_context(why);
    if (ctx == nullptr) {
        return nullptr;
    }
    return s == stream_per_thread ? &own_stream(*ctx) : ctx->legacy;
}

context_state& create_context(device dev, unsigned flags, bool primary) {
    driver& d = the_driver();
    auto made = std::make_unique<context_state>();
    d.contexts.reserve(d.contexts.size() + 1);
    made->dev = dev;
    made->flags = flags;
    made->is_primary = primary;
    made->id = d.next_id++;
    std::unique_ptr<stream_state> legacy(&add_stream(*made, stream_default, 0));
    legacy->is_legacy = true;
    legacy->handle = stream_legacy;
    made->handle = make_handle<context>(d.handles.add(handle_kind::context, made.get()));
    made->legacy = legacy.release();
    d.contexts.push_back(made.get());
    return *made.release();
}

bool destroy_context(lock& held, context handle, object_list& due) {
    driver& d = the_driver();
    context_state* quiet = wait_until_quiet(held, handle);
    if (quiet == nullptr) {
        return false;
    }
    context_state& ctx = *quiet;
    free_streams(d, ctx, due);
    free_events(d, ctx);
    free_memory_of(ctx);
    stop_executor(ctx.runs);
    d.handles.orphan(handle_bits(handle));
    std::erase(d.contexts, &ctx);
    delete &ctx;
    return true;
}

stream_state& create_stream(context_state& ctx, unsigned flags, int priority) {
    stream_state& s = add_stream(ctx, flags, priority);
    try {
        s.handle = make_handle<stream>(the_driver().handles.add(handle_kind::stream, &s));
    } catch (const std::bad_alloc&) {
        ctx.streams.pop_back();
        delete &s;
        throw;
    }
    return s;
}

void destroy_stream(stream_state& s, object_list& due) {
    leave_capture(s, due);
    the_driver().handles.remove(handle_bits(s.handle));
    s.destroyed = true;
    retire_if_done(s);
}

event_state& create_event(context_state& ctx, unsigned flags) {
    auto made = std::make_unique<event_state>();
    made->ctx = &ctx;
    made->flags = flags;
    made->place = ctx.events.size();
    ctx.events.push_back(made.get());
    try {
        made->handle = make_handle<event>(the_driver().handles.add(handle_kind::event, made.get()));
    } catch (const std::bad_alloc&) {
        ctx.events.pop_back();
        throw;
    }
    return *made.release();
}

void destroy_event(event_state& e) {
    the_driver().handles.remove(handle_bits(e.handle));
    std::vector<event_state*>& events = e.ctx->events;
    events[e.place] = events.back();
    events[e.place]->place = e.place;
    events.pop_back();
    if (e.pending_records == 0) {
        delete &e;
    } else {
        e.destroyed = true;
    }
}

}  // namespace hostlaunch::embedded
