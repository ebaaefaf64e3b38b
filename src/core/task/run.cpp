// SPDX-License-Identifier: Apache-2.0
// The pair of trampolines, and the same for when somebody watches: the gate then lets nobody pass
// as usual.
#include "core/task/run.hpp"

#include "core/task/names.hpp"
#include "core/task/outcomes.hpp"
#include "core/task/trace.hpp"

namespace hostlaunch::core {

record* held_by_graphs(token t) noexcept {
    record_pool& pool = record_pool::instance();
    const auto index = static_cast<std::uint32_t>(t & (record_pool::max_records - 1));
    if (index >= pool.size()) return nullptr;
    record& r = pool.at(index);
    const std::uint64_t word = r.word.load(std::memory_order_acquire);
    return word == record::make_word(t >> record::index_bits, state::in_graph) ? &r : nullptr;
}

namespace {

void finish_claimed(record& r, const task_type& type, outcome how) noexcept {
    if (type.destroy == nullptr) {
        finish_in_place(r, how);
    } else if (how != outcome::told) {
        finish(r, how);
    }
}

outcome run_marked(const task_type& type, record& r, token t, bool replayed) {
    const auto stream = replayed ? 0 : reinterpret_cast<std::uint64_t>(r.stream());
    trace::enter_task(t, stream, replayed);
    if (type.run_watched != nullptr) {
        return run_guarded([&] { return type.run_watched(r.payload); });
    }
    trace::begin_run(trace::is_task_named() ? no_name : name_of_type(type, r.payload));
    const outcome how = run_guarded([&] { return type.run(r.payload); });
    trace::end_run(how == outcome::raised);
    return how;
}

[[gnu::noinline, gnu::cold]] void call_watched(token t) {
    if (!gate().enter()) return;
    record* r = record_pool::instance().claim(t);
    if (r != nullptr) {
        const task_type& type = *r->type;
        finish_claimed(*r, type, run_marked(type, *r, t, false));
    }
    gate().leave();
    end_in_forked_child();
}

[[gnu::noinline, gnu::cold]] void call_in_graph_watched(token t) {
    if (!gate().enter()) return;
    record* r = held_by_graphs(t);
    if (r != nullptr) {
        const outcome how = run_marked(*r->type, *r, t, true);
        if (how != outcome::told) count_graph_run(how);
    }
    gate().leave();
    end_in_forked_child();
}

}  // namespace

// Not entered: exit has begun, and a launch stays pending and is dropped, or somebody watches.
extern "C" void hostlaunch_call(void* user_data) {
    const auto t = reinterpret_cast<token>(user_data);
    if (!gate().enter_unwatched()) [[unlikely]]
        return call_watched(t);
    record* r = record_pool::instance().claim(t);
    if (r != nullptr) {
        const task_type& type = *r->type;
        finish_claimed(*r, type, run_guarded([&] { return type.run(r->payload); }));
    }
    gate().leave();
    end_in_forked_child();
}

extern "C" void hostlaunch_graph_call(void* user_data) {
    const auto t = reinterpret_cast<token>(user_data);
    if (!gate().enter_unwatched()) [[unlikely]]
        return call_in_graph_watched(t);
    record* r = held_by_graphs(t);
    if (r != nullptr) {
        const outcome how = run_guarded([r] { return r->type->run(r->payload); });
        if (how != outcome::told) count_graph_run(how);
    }
    gate().leave();
    end_in_forked_child();
}

}  // namespace hostlaunch::core
