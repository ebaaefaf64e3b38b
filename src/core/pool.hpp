// SPDX-License-Identifier: Apache-2.0
// All records of the process: handed out from a shared free list, found again by index.
//
// Memory follows the peak of records in use and is never given back or unmapped, since the driver
// may call with an old token at any time. acquire, claim and recycle are lock-free and allocate
// nothing unless the pool must grow; growth holds a mutex of its own and calls nothing foreign.
// The free list is a Treiber stack of indices with a tag against the ABA problem.
#pragma once

#include <array>
#include <atomic>
#include <mutex>

#include "core/record.hpp"

namespace hostlaunch::core {

class record_pool {
  public:
    static constexpr std::uint32_t chunk_records = 512;  // 64 KiB
    static constexpr std::uint32_t max_records = 1u << record::index_bits;
    static constexpr std::uint32_t max_chunks = max_records / chunk_records;

    // The process's pool, usable at any time: it has no constructor or destructor to run.
    static record_pool& instance() noexcept;

    // A record in state free that the caller owns; null if memory or indices run out.
    record* acquire() noexcept {
        record* r = pop();
        return r != nullptr ? r : acquire_grown();
    }

    // Takes a record for running, on the driver's thread. Null if the token's launch has ended,
    // was withdrawn or swept: then the caller must do nothing.
    record* claim(token t) noexcept {
        const auto index = static_cast<std::uint32_t>(t & (max_records - 1));
        if (index >= size()) return nullptr;
        record& r = at(index);
        const std::uint64_t generation = t >> record::index_bits;
        // The driver may call before the launching thread has seen its acceptance, and that thread
        // may move the record on between the first two attempts.
        const bool claimed = r.move(generation, state::pending, state::running) ||
                             r.move(generation, state::launching, state::running) ||
                             r.move(generation, state::pending, state::running);
        return claimed ? &r : nullptr;
    }

    // Gives an ended or withdrawn record back. requires: owned by the caller, payload destroyed.
    void recycle(record& r) noexcept {
        const std::uint64_t generation = r.generation();
        const bool spent = generation == record::last_generation;  // its tokens would repeat
        const std::uint64_t next = spent ? generation : generation + 1;
        r.word.store(record::make_word(next, state::free), std::memory_order_release);
        if (!spent) push(r);
    }

    std::uint32_t size() const noexcept { return size_.load(std::memory_order_acquire); }
    record& at(std::uint32_t index) noexcept {
        record* chunk = chunks_[index / chunk_records].load(std::memory_order_acquire);
        return chunk[index % chunk_records];
    }

  private:
    static constexpr unsigned link_bits = 32;
    static constexpr std::uint64_t link_mask = (std::uint64_t{1} << link_bits) - 1;

    record* pop() noexcept {
        std::uint64_t head = free_.load(std::memory_order_acquire);
        while ((head & link_mask) != 0) {
            record& r = at(static_cast<std::uint32_t>(head & link_mask) - 1);
            const std::uint64_t next = r.next.load(std::memory_order_relaxed);
            const std::uint64_t tag = (head >> link_bits) + 1;
            if (free_.compare_exchange_weak(head, tag << link_bits | next,
                                            std::memory_order_acquire)) {
                return &r;
            }
        }
        return nullptr;
    }

    void push(record& r) noexcept {
        std::uint64_t head = free_.load(std::memory_order_relaxed);
        std::uint64_t changed = 0;
        do {
            r.next.store(static_cast<std::uint32_t>(head & link_mask), std::memory_order_relaxed);
            changed = ((head >> link_bits) + 1) << link_bits | (r.index + 1);
        } while (!free_.compare_exchange_weak(head, changed, std::memory_order_release,
                                              std::memory_order_relaxed));
    }

    record* acquire_grown() noexcept;
    bool grow() noexcept;

    // index + 1 of the first free record in the low bits, a tag that changes with every change
    // above (pop reads `next` of a record that another thread may have taken: the tag then
    // differs). Release in push, acquire in pop.
    alignas(64) std::atomic<std::uint64_t> free_{0};
    alignas(64) std::atomic<std::uint32_t> size_{0};  // release in grow, acquire in readers
    std::mutex growing_;
    std::array<std::atomic<record*>, max_chunks> chunks_{};
};

namespace detail {
inline constinit record_pool the_pool;
}

inline record_pool& record_pool::instance() noexcept {
    return detail::the_pool;
}

}  // namespace hostlaunch::core
