// SPDX-License-Identifier: Apache-2.0
// The free list is a Treiber stack of indices with a tag against the ABA problem.
#include "core/pool.hpp"

#include <new>

namespace hostlaunch::core {
namespace {

constexpr unsigned link_bits = 32;
constexpr std::uint64_t link_mask = (std::uint64_t{1} << link_bits) - 1;

}  // namespace

record_pool& record_pool::instance() noexcept {
    static record_pool& pool = *new record_pool;
    return pool;
}

record* record_pool::acquire() noexcept {
    record* r = pop();
    while (r == nullptr) {
        if (!grow()) return nullptr;
        r = pop();
    }
    return r;
}

record* record_pool::claim(token t) noexcept {
    const auto index = static_cast<std::uint32_t>(t & (max_records - 1));
    const std::uint64_t generation = t >> record::index_bits;
    if (index >= size()) return nullptr;
    record& r = at(index);
    if (r.move(generation, state::pending, state::running)) return &r;
    // The driver may call before the launching thread has seen its acceptance.
    if (r.move(generation, state::launching, state::running)) return &r;
    // ... and the launching thread may have moved it on between the two attempts.
    if (r.move(generation, state::pending, state::running)) return &r;
    return nullptr;
}

void record_pool::recycle(record& r) noexcept {
    const std::uint64_t generation = r.generation();
    if (generation == record::last_generation) return;  // spent: no token could tell its users apart
    r.word.store(record::make_word(generation + 1, state::free), std::memory_order_release);
    push(r);
}

record* record_pool::pop() noexcept {
    std::uint64_t head = free_.load(std::memory_order_acquire);
    while ((head & link_mask) != 0) {
        record& r = at(static_cast<std::uint32_t>(head & link_mask) - 1);
        const std::uint64_t next = r.next.load(std::memory_order_relaxed);
        const std::uint64_t tag = (head >> link_bits) + 1;
        if (free_.compare_exchange_weak(head, tag << link_bits | next, std::memory_order_acquire)) {
            return &r;
        }
    }
    return nullptr;
}

void record_pool::push(record& r) noexcept {
    std::uint64_t head = free_.load(std::memory_order_relaxed);
    std::uint64_t changed = 0;
    do {
        r.next.store(static_cast<std::uint32_t>(head & link_mask), std::memory_order_relaxed);
        changed = ((head >> link_bits) + 1) << link_bits | (r.index + 1);
    } while (!free_.compare_exchange_weak(head, changed, std::memory_order_release,
                                          std::memory_order_relaxed));
}

bool record_pool::grow() noexcept {
    const std::lock_guard lock(growing_);
    if ((free_.load(std::memory_order_acquire) & link_mask) != 0) return true;  // another thread grew
    const std::uint32_t first = size_.load(std::memory_order_relaxed);
    if (first == max_records) return false;
    auto* chunk = new (std::nothrow) record[chunk_records];
    if (chunk == nullptr) return false;
    chunks_[first / chunk_records].store(chunk, std::memory_order_release);
    size_.store(first + chunk_records, std::memory_order_release);
    for (std::uint32_t i = chunk_records; i-- > 0;) {
        chunk[i].index = first + i;
        // Generations start at 1, so that no token is a null pointer.
        chunk[i].word.store(record::make_word(1, state::free), std::memory_order_relaxed);
        push(chunk[i]);
    }
    return true;
}

}  // namespace hostlaunch::core
