// SPDX-License-Identifier: Apache-2.0
// Growth of the pool, a chunk at a time.
#include "core/pool.hpp"

#include <new>

namespace hostlaunch::core {

record* record_pool::acquire_grown() noexcept {
    while (grow()) {
        if (record* r = pop_or([]() noexcept -> record* { return nullptr; })) return r;
    }
    return nullptr;
}

bool record_pool::grow() noexcept {
    const std::lock_guard lock(growing_);
    if (free_.load(std::memory_order_acquire) != 0) return true;  // another thread grew
    const std::uint32_t first = size_.load(std::memory_order_relaxed);
    if (first == max_records) return false;
    auto* chunk = new (std::nothrow) record[chunk_records];
    if (chunk == nullptr) return false;
    chunks_[first / chunk_records].store(chunk, std::memory_order_release);
    size_.store(first + chunk_records);
    for (std::uint32_t i = chunk_records; i-- > 0;) {
        chunk[i].index = first + i;
        chunk[i].place = (first + i) * static_cast<std::uint32_t>(sizeof(record)) + 1;
        // Generations start at 1, so that no token is a null pointer.
        const std::uint64_t free_word = record::make_word(1, state::free);
        chunk[i].word.store(free_word, std::memory_order_relaxed);
        push(chunk[i], free_word);
    }
    return true;
}

}  // namespace hostlaunch::core
