// SPDX-License-Identifier: Apache-2.0
// The moves of records that graphs hold.
#include "core/graph_function.hpp"

#include "core/outcomes.hpp"
#include "core/pool.hpp"

namespace hostlaunch::core {
namespace {

record_pool& pool() noexcept {
    return record_pool::instance();
}

void set_state(record& r, state s) noexcept {
    r.word.store(record::make_word(r.generation(), s), std::memory_order_release);
}

}  // namespace

token attach_to_graphs(record& r) noexcept {
    const token t = r.token_from(r.word.load(std::memory_order_relaxed));
    set_state(r, state::attached);
    return t;
}

record* held_by_graphs(token t) noexcept {
    const auto index = static_cast<std::uint32_t>(t & (record_pool::max_records - 1));
    if (index >= pool().size()) return nullptr;
    record& r = pool().at(index);
    const std::uint64_t word = r.word.load(std::memory_order_acquire);
    return word == record::make_word(t >> record::index_bits, state::attached) ? &r : nullptr;
}

extern "C" void hostlaunch_graph_release(void* user_data) {
    const auto t = reinterpret_cast<token>(user_data);
    const auto index = static_cast<std::uint32_t>(t & (record_pool::max_records - 1));
    const std::uint64_t generation = t >> record::index_bits;
    record& r = pool().at(index);
    if (r.move(generation, state::attached, state::spent)) {
        to_release().push(r);
        request_release();
    } else if (!r.move(generation, state::withdrawn, state::hollow) &&
               r.word.load() == record::make_word(generation, state::hollow)) {
        pool().recycle(r);  // the caller has let go before
    }
}

added take_back(record& r, token t, status why) noexcept {
    return {why, r.move(t >> record::index_bits, state::attached, state::withdrawn)};
}

added take_back_alone(record& r, status why) noexcept {
    set_state(r, state::hollow);
    return {why, true};
}

void let_go(record& r) noexcept {
    if (!r.move(r.generation(), state::withdrawn, state::hollow)) pool().recycle(r);
}

void count_graph_run(state outcome) noexcept {
    (outcome == state::ran ? detail::count.graph_ran : detail::count.graph_raised)
        .fetch_add(1, std::memory_order_relaxed);
}

record* acquire_left_behind() noexcept {
    return pool().acquire();
}

void push_left_behind(record& r) noexcept {
    set_state(r, state::spent);
    to_release().push(r);
    request_release();
}

}  // namespace hostlaunch::core
