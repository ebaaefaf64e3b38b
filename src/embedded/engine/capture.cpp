// SPDX-License-Identifier: Apache-2.0
// Begin, record, fork, join and end of stream captures.
#include "embedded/engine/capture.hpp"

#include <algorithm>
#include <memory>
#include <unordered_set>

#include "embedded/engine/graphs.hpp"
#include "embedded/engine/queues.hpp"
#include "embedded/engine/thread.hpp"

namespace hostlaunch::embedded {

namespace {

capture_state* find_capture(std::uint64_t id) {
    for (capture_state* c : the_driver().captures) {
        if (c->id == id) {
            return c;
        }
    }
    return nullptr;
}

void add_tips(stream_state& s, const std::vector<node_state*>& tips) {
    for (node_state* tip : tips) {
        if (std::find(s.tips.begin(), s.tips.end(), tip) == s.tips.end()) {
            s.tips.push_back(tip);
        }
    }
}

void join(stream_state& s, capture_state& c, const std::vector<node_state*>& tips) {
    s.tips = tips;
    c.members.push_back(&s);
    s.capture = &c;
}

// Whether everything that the other members recorded comes before what the origin recorded last.
bool all_joined(const capture_state& c) {
    std::unordered_set<const node_state*> reached(c.origin->tips.begin(), c.origin->tips.end());
    reached.insert(c.dropped.begin(), c.dropped.end());
    std::vector<const node_state*> look(reached.begin(), reached.end());
    while (!look.empty()) {
        const node_state* node = look.back();
        look.pop_back();
        for (const node_state* before : node->dependencies) {
            if (reached.insert(before).second) {
                look.push_back(before);
            }
        }
    }
    const auto joined = [&](const std::vector<node_state*>& tips) {
        return std::all_of(tips.begin(), tips.end(),
                           [&](const node_state* tip) { return reached.contains(tip); });
    };
    return joined(c.left) && std::all_of(c.members.begin(), c.members.end(),
                                         [&](const stream_state* s) { return joined(s->tips); });
}

// With a list, the graph goes too, unless it was the caller's.
void forget_capture(capture_state& c, object_list* due) {
    for (stream_state* s : c.members) {
        s->capture = nullptr;
        s->tips.clear();
    }
    std::erase(the_driver().captures, &c);
    if (due != nullptr && !c.into_callers) {
        destroy_graph(*c.built, *due);
    }
    delete &c;
}

bool has_blocking_member(const capture_state& c, const context_state& ctx) {
    return std::any_of(c.members.begin(), c.members.end(),
                       [&](const stream_state* s) { return s->ctx == &ctx && s->is_blocking(); });
}

bool has_member(const capture_state& c, const context_state& ctx) {
    return std::any_of(c.members.begin(), c.members.end(),
                       [&](const stream_state* s) { return s->ctx == &ctx; });
}

result invalidate(capture_state& c, result answer) {
    c.invalid = true;
    return answer;
}

// An event of outside as a node.
void record_external(stream_state& s, node_kind kind, const event_state& e) {
    node_action action;
    action.kind = kind;
    action.target = e.handle;
    record_node(s, std::move(action));
}

// A wait for an event that was last recorded in a capture.
result wait_captured_event(stream_state& s, const event_state& e) {
    capture_state* c = find_capture(e.capture_id);
    if (c == nullptr) {
        return s.capture != nullptr ? invalidate(*s.capture, error_stream_capture_merge)
                                    : error_captured_event;
    }
    if (c->invalid) {
        return error_stream_capture_invalidated;
    }
    if (s.is_legacy) {
        return invalidate(*c, error_stream_capture_implicit);
    }
    if (s.capture == nullptr) {
        join(s, *c, e.capture_tips);
    } else if (s.capture == c) {
        add_tips(s, e.capture_tips);
    } else {
        invalidate(*c, error_stream_capture_merge);
        return invalidate(*s.capture, error_stream_capture_merge);
    }
    return success;
}

}  // namespace

result refuse_work(const stream_state& s) {
    if (s.capture != nullptr) {
        return s.capture->invalid ? error_stream_capture_invalidated : success;
    }
    return s.is_legacy ? refuse_legacy(*s.ctx) : success;
}

void record_node(stream_state& s, node_action action) {
    auto made = std::make_unique<node_state>();
    made->action = std::move(action);
    made->dependencies = s.tips;
    s.tips.reserve(1);
    s.tips.assign(1, &add_node(*s.capture->built, std::move(made)));
}

result enqueue(lock& held, stream_state& s, const work& what) {
    const result refused = refuse_work(s);
    if (refused == success) {
        if (s.capture != nullptr) {
            node_action action;
            action.kind = kind_of(what);
            action.what = what;
            record_node(s, std::move(action));
        } else {
            push(held, s, what);
        }
    }
    return refused;
}

result enqueue_values(lock& held, stream_state& s, context ctx, const value_params* values,
                      std::size_t count) {
    const result refused = refuse_work(s);
    if (refused != success) {
        return refused;
    }
    if (s.capture != nullptr) {
        node_action action;
        action.kind = node_kind::value;
        action.values.assign(values, values + count);
        action.ctx = ctx;
        record_node(s, std::move(action));
        return success;
    }
    reserve_operations(s, count, 0);
    begin_append(s);
    append_values(s, values, count);
    drain(held);
    return success;
}

result record_event(lock& held, stream_state& s, event_state& e, bool external) {
    if (s.ctx != e.ctx) {
        return error_invalid_handle;
    }
    const result refused = refuse_work(s);
    if (refused != success) {
        return refused;
    }
    if (s.capture == nullptr) {
        e.capture_id = 0;
        push_record(held, s, e);
    } else if (external) {
        record_external(s, node_kind::record_event, e);
    } else {
        e.capture_tips = s.tips;
        e.capture_id = s.capture->id;
    }
    return success;
}

result wait_event(lock& held, stream_state& s, event_state& e, bool external) {
    const result refused = refuse_work(s);
    if (refused != success) {
        return refused;
    }
    if (s.capture != nullptr && external) {
        record_external(s, node_kind::wait_event, e);
        return success;
    }
    if (e.capture_id != 0) {
        return wait_captured_event(s, e);
    }
    if (s.capture == nullptr) {
        push_event_wait(held, s, e);
        return success;
    }
    // What a capture waits for must be part of it; a never-recorded event is nothing to wait for.
    return e.last_record == 0 ? success : invalidate(*s.capture, error_stream_capture_isolation);
}

result begin_capture(stream_state& s, capture_mode mode, graph_state* into,
                     const std::vector<node_state*>& behind) {
    if (s.is_legacy) {
        return error_stream_capture_unsupported;
    }
    if (s.capture != nullptr) {
        return error_illegal_state;
    }
    driver& d = the_driver();
    auto made = std::make_unique<capture_state>();
    made->id = d.next_id++;
    made->mode = mode;
    made->thread = thread_id();
    made->origin = &s;
    d.captures.reserve(d.captures.size() + 1);
    made->members.reserve(1);
    made->into_callers = into != nullptr;
    made->built = into != nullptr ? into : &create_graph();
    join(s, *made, behind);
    d.captures.push_back(made.release());
    return success;
}

result end_capture(stream_state& s, graph* out, object_list& due) {
    if (out != nullptr) {
        *out = nullptr;
    }
    if (s.capture == nullptr) {
        return error_illegal_state;
    }
    capture_state& c = *s.capture;
    if (c.origin != &s) {
        return invalidate(c, error_stream_capture_unmatched);
    }
    result answer = success;
    if (c.mode != capture_mode::relaxed && c.thread != thread_id()) {
        answer = error_stream_capture_wrong_thread;
    } else if (c.invalid) {
        answer = error_stream_capture_invalidated;
    } else if (!all_joined(c)) {
        answer = error_stream_capture_unjoined;
    }
    graph_state& g = *c.built;
    if (answer == success && out != nullptr) {
        *out = g.handle;
    }
    forget_capture(c, answer == success ? nullptr : &due);
    return answer;
}

result capture_status_of(const stream_state& s, capture_status& status) {
    status = capture_status::none;
    if (s.capture != nullptr) {
        status = s.capture->invalid ? capture_status::invalidated : capture_status::active;
    } else if (s.is_legacy) {
        for (const capture_state* c : the_driver().captures) {
            if (has_blocking_member(*c, *s.ctx)) {
                return error_stream_capture_implicit;
            }
        }
    }
    return success;
}

void leave_capture(stream_state& s, object_list& due) {
    if (s.capture == nullptr) {
        return;
    }
    capture_state& c = *s.capture;
    if (c.origin == &s) {
        forget_capture(c, &due);
        return;
    }
    c.left.insert(c.left.end(), s.tips.begin(), s.tips.end());
    std::erase(c.members, &s);
    s.capture = nullptr;
    s.tips.clear();
}

void abandon_capture(stream_state& s, object_list& due) {
    if (s.capture != nullptr) {
        s.capture->invalid = true;
    }
    leave_capture(s, due);
}

result refuse_unsafe() {
    driver& d = the_driver();
    if (d.captures.empty()) {
        return success;
    }
    const capture_mode mode = this_thread().mode;
    result answer = success;
    for (capture_state* c : d.captures) {
        const bool own = c->thread == thread_id() && c->mode != capture_mode::relaxed;
        const bool anybodys = mode == capture_mode::global && c->mode == capture_mode::global;
        if (mode != capture_mode::relaxed && (own || anybodys)) {
            answer = invalidate(*c, error_stream_capture_unsupported);
        }
    }
    return answer;
}

result refuse_legacy(const context_state& ctx) {
    result answer = success;
    for (capture_state* c : the_driver().captures) {
        if (has_blocking_member(*c, ctx)) {
            answer = invalidate(*c, error_stream_capture_implicit);
        }
    }
    return answer;
}

result refuse_wait(const stream_state& s) {
    if (s.capture != nullptr) {
        return s.capture->invalid ? error_stream_capture_invalidated
                                  : invalidate(*s.capture, error_stream_capture_unsupported);
    }
    const result refused = s.is_legacy ? refuse_legacy(*s.ctx) : success;
    return refused != success ? refused : refuse_unsafe();
}

result refuse_launch(const stream_state& s) {
    return s.capture != nullptr ? refuse_wait(s) : refuse_work(s);
}

result set_dependencies(stream_state& s, const std::vector<node_state*>& nodes, bool replace) {
    if (s.capture == nullptr) {
        return error_illegal_state;
    }
    capture_state& c = *s.capture;
    if (c.invalid) {
        return error_stream_capture_invalidated;
    }
    for (const node_state* node : nodes) {
        if (node->owner != c.built) {
            return error_invalid_value;
        }
    }
    s.tips.reserve(s.tips.size() + nodes.size());
    if (replace) {
        c.dropped.insert(c.dropped.end(), s.tips.begin(), s.tips.end());
        s.tips.clear();
    }
    add_tips(s, nodes);
    return success;
}

result refuse_context_wait(const context_state& ctx) {
    result answer = success;
    for (capture_state* c : the_driver().captures) {
        if (has_member(*c, ctx)) {
            answer = invalidate(*c, error_stream_capture_unsupported);
        }
    }
    return answer != success ? answer : refuse_unsafe();
}

result refuse_event_wait(const event_state& e) {
    if (e.capture_id != 0) {
        if (capture_state* c = find_capture(e.capture_id); c != nullptr) {
            c->invalid = true;
        }
        return error_captured_event;
    }
    return refuse_unsafe();
}

}  // namespace hostlaunch::embedded
