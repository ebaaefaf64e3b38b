// SPDX-License-Identifier: Apache-2.0
// All records of the process: handed out from a shared free list, found again by index.
//
// Memory follows the peak of records in use and is never given back or unmapped, since the driver
// may call with an old token at any time. acquire, claim and recycle are lock-free and allocate
// nothing unless the pool must grow; growth takes no lock either, so that none is left locked in
// the child of a fork. The free list is a Treiber stack; its links carry generations against the
// ABA problem.
#pragma once

#include <array>
#include <atomic>

#include "core/task/record.hpp"

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
        return pop_or([this]() noexcept { return acquire_grown(); });
    }

    // As acquire, but what otherwise() returns if the pool must grow: for callers that want that
    // off their fast path.
    template <class Otherwise>
    [[gnu::always_inline]] record* pop_or(Otherwise otherwise) {
        std::uint64_t head = free_.load(std::memory_order_acquire);
        for (;;) {
            if (head == 0) [[unlikely]]
                return otherwise();
            record& r = *reinterpret_cast<record*>(place_of(head));
            const std::uint64_t next = r.next.load(std::memory_order_relaxed);
            if (free_.compare_exchange_weak(head, next, std::memory_order_acquire)) [[likely]] {
                prefetch(place_of(next));
                return &r;
            }
        }
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
        r.route.store(nullptr, std::memory_order_relaxed);
        r.word.store(record::make_word(next, state::free), std::memory_order_release);
        if (!spent) push(r, record::make_word(next, state::free));
    }

    // Moves a running record whose payload needs no destruction straight back to the free ones.
    // False if it is not running any more, or its generations are used up: then nothing was done.
    template <class Between>
    [[gnu::always_inline]] bool recycle_running(record& r, Between between) noexcept {
        std::uint64_t running = r.word.load(std::memory_order_relaxed);
        if (record::state_of(running) != state::running) return false;
        const std::uint64_t next =
            running + (record::make_word(1, state::free) - record::make_word(0, state::running));
        if (record::generation_of(next) > record::last_generation ||
            !r.word.compare_exchange_strong(running, next)) {
            return false;
        }
        between();
        push(r, next);
        return true;
    }

    std::uint32_t size() const noexcept { return size_.load(); }
    record& at(std::uint32_t index) noexcept {
        record* chunk = chunks_[index / chunk_records].load(std::memory_order_acquire);
        return chunk[index % chunk_records];
    }

    // Grows the pool and takes a record.
    record* acquire_grown() noexcept;

  private:
    static constexpr unsigned link_bits = 32;
    static constexpr std::uint32_t chunk_bytes = chunk_records * sizeof(record);
    static_assert(chunk_bytes == 1u << 16 && std::uint64_t{max_chunks} * chunk_bytes <= 1ull << 31);

    // A link holds the record's place, which is its offset in bytes in all chunks put together, and
    // 1; above it the generation that the record had when it was pushed. No link comes back within
    // 2^32 uses of a record, so a head that is unchanged stands for an unchanged list.
    void push(record& r, std::uint64_t free_word) noexcept {
        const std::uint64_t link = free_word << (link_bits - record::state_bits) | r.place;
        std::uint64_t head = free_.load(std::memory_order_relaxed);
        do {
            r.next.store(head, std::memory_order_relaxed);
        } while (!free_.compare_exchange_weak(head, link, std::memory_order_release,
                                              std::memory_order_relaxed));
    }

    bool grow() noexcept;
    static void number(record* chunk, std::uint32_t first) noexcept;

    // Where the record of a link lies. For an empty link it is outside of every record.
    std::uintptr_t place_of(std::uint64_t link) noexcept {
        const auto place = static_cast<std::uint32_t>(link);
        record* chunk = chunks_[place / chunk_bytes].load(std::memory_order_acquire);
        return reinterpret_cast<std::uintptr_t>(chunk) + place % chunk_bytes - 1;
    }

    // Fetches both lines of the record that will be taken next, for writing: another core wrote
    // them last, and they arrive while this launch is in the driver. A hint: any address will do.
    static void prefetch(std::uintptr_t place) noexcept {
        const auto* at = reinterpret_cast<const char*>(place);
#ifdef __x86_64__
        // What the builtin is on this processor fetches for reading.
        // NOLINTNEXTLINE(portability-no-assembler): other processors take the other way.
        asm volatile("prefetchw %0\n\tprefetchw %1" : : "m"(at[0]), "m"(at[64]));
#else
        __builtin_prefetch(at, 1);
        __builtin_prefetch(at + 64, 1);
#endif
    }

    // First, so that finding a record takes no addition.
    alignas(64) std::array<std::atomic<record*>, max_chunks> chunks_{};
    // The link to the first free record, 0 if there is none. Taking it reads `next` of a record
    // that another thread may have taken meanwhile: the head is then another link, and the exchange
    // fails. Release in push, acquire in pop_or.
    alignas(64) std::atomic<std::uint64_t> free_{0};
    // Sequentially consistent: a walk that misses a launch was sized before the pool grew for it.
    alignas(64) std::atomic<std::uint32_t> size_{0};
};

namespace detail {
inline constinit record_pool the_pool;
}

inline record_pool& record_pool::instance() noexcept {
    return detail::the_pool;
}

}  // namespace hostlaunch::core
