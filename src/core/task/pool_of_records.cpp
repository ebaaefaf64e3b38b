// SPDX-License-Identifier: Apache-2.0
// Growth of the pool, a chunk at a time.
#include "core/task/pool_of_records.hpp"

#include <new>

namespace hostlaunch::core {

record* record_pool::acquire_grown() noexcept {
    while (grow()) {
        if (record* r = pop_or([]() noexcept -> record* { return nullptr; })) return r;
    }
    return nullptr;
}

// Threads that find the pool empty at once make a chunk each and race for the next place; who loses
// frees its own. The winner's place counts once `size_` says so, and every thread helps it to that:
// a winner that a fork has left behind in the parent holds nobody up, its records are lost to the
// child alone.
bool record_pool::grow() noexcept {
    if (free_.load(std::memory_order_acquire) != 0) return true;  // another thread grew
    std::uint32_t first = size_.load();
    if (first == max_records) return false;
    auto* chunk = new (std::nothrow) record[chunk_records];
    if (chunk == nullptr) return false;
    number(chunk, first);
    record* none = nullptr;
    const bool won = chunks_[first / chunk_records].compare_exchange_strong(
        none, chunk, std::memory_order_acq_rel);
    size_.compare_exchange_strong(first, first + chunk_records);
    if (!won) {
        delete[] chunk;
        return true;
    }
    for (std::uint32_t i = chunk_records; i-- > 0;)
        push(chunk[i], chunk[i].word.load(std::memory_order_relaxed));
    return true;
}

void record_pool::number(record* chunk, std::uint32_t first) noexcept {
    for (std::uint32_t i = 0; i < chunk_records; ++i) {
        chunk[i].place = (first + i) * record::record_bytes + 1;
        // Generations start at 1, so that no token is a null pointer.
        chunk[i].word.store(record::make_word(1, state::free), std::memory_order_relaxed);
    }
}

}  // namespace hostlaunch::core
