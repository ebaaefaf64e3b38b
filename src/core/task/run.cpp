// SPDX-License-Identifier: Apache-2.0
// The pair of trampolines.
//
// A trace would mark here what is claimed, runs and has ended (and at launch and in `dispose` the
// rest): one call mark(task, phase), behind one bit of process.hpp's word that each run reads
// already.
#include "core/task/run.hpp"

#include "core/task/outcomes.hpp"

namespace hostlaunch::core {

record* held_by_graphs(token t) noexcept {
    record_pool& pool = record_pool::instance();
    const auto index = static_cast<std::uint32_t>(t & (record_pool::max_records - 1));
    if (index >= pool.size()) return nullptr;
    record& r = pool.at(index);
    const std::uint64_t word = r.word.load(std::memory_order_acquire);
    return word == record::make_word(t >> record::index_bits, state::in_graph) ? &r : nullptr;
}

extern "C" void hostlaunch_call(void* user_data) {
    if (!gate().enter()) return;  // exit has begun: a launch stays pending and is dropped
    record* r = record_pool::instance().claim(reinterpret_cast<token>(user_data));
    if (r != nullptr) {
        const task_type& type = *r->type;
        const outcome how = run_guarded([&] { return type.run(r->payload); });
        if (type.destroy == nullptr) {
            finish_in_place(*r, how);
        } else if (how != outcome::told) {
            finish(*r, how);
        }
    }
    gate().leave();
    end_in_forked_child();
}

extern "C" void hostlaunch_graph_call(void* user_data) {
    if (!gate().enter()) return;
    record* r = held_by_graphs(reinterpret_cast<token>(user_data));
    if (r != nullptr) {
        const outcome how = run_guarded([r] { return r->type->run(r->payload); });
        if (how != outcome::told) count_graph_run(how);
    }
    gate().leave();
    end_in_forked_child();
}

}  // namespace hostlaunch::core
