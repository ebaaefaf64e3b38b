// SPDX-License-Identifier: Apache-2.0
// What is pending or running, seen from outside: for reports, debuggers and tests.
//
// A walk over all records, without a lock: each entry was true at some moment of the walk. Any
// thread, attached or not, in a process where nothing else moves any more as well.
#pragma once

#include <cstdint>

#include "core/task/pool_of_records.hpp"
#include "core/task/task_notes.hpp"

namespace hostlaunch::core {

struct unfinished {
    record* of = nullptr;
    token t = 0;
    bool runs = false;  // begun; of native code nobody knows: it counts as pending
    const core::route* route = nullptr;
    std::uint64_t stream = 0;
    abi::context context = nullptr;
    std::uint32_t launched_at = 0;  // coarse milliseconds, see process/monitor.hpp
    name_id name = no_name;         // if the launch was made while somebody watched
};

// use(entry) for each launch that is accepted and has not ended.
template <class Use>
void for_each_unfinished(Use&& use) {
    record_pool& pool = record_pool::instance();
    const std::uint32_t size = pool.size();
    for (std::uint32_t i = 0; i < size; ++i) {
        record& r = pool.at(i);
        const std::uint64_t word = r.word.load();
        const state now = record::state_of(word);
        if (now != state::pending && now != state::running) continue;
        unfinished entry;
        entry.of = &r;
        entry.t = r.token_from(record::make_word(record::generation_of(word), state::free));
        entry.runs = now == state::running;
        entry.route = r.route.load(std::memory_order_relaxed);
        entry.context = r.context.load(std::memory_order_relaxed);
        entry.launched_at = r.launched_at.load(std::memory_order_relaxed);
        const task_note note = note_of(entry.t);
        entry.name = note.name;
        entry.stream =
            entry.route != nullptr ? note.stream : reinterpret_cast<std::uint64_t>(r.stream());
        // The record may have been used again meanwhile: then these are another launch's.
        const std::uint64_t after = r.word.load();
        if (record::generation_of(after) == record::generation_of(word)) use(entry);
    }
}

}  // namespace hostlaunch::core
