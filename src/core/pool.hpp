// SPDX-License-Identifier: Apache-2.0
// All records of the process: handed out from a shared free list, found again by index.
//
// Memory follows the peak of records in use and is never given back or unmapped, since the driver
// may call with an old token at any time. acquire, claim and recycle are lock-free and allocate
// nothing unless the pool must grow; growth holds a mutex of its own and calls nothing foreign.
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

    // The process's pool, never destroyed.
    static record_pool& instance() noexcept;

    // A record in state free that the caller owns; null if memory or indices run out.
    record* acquire() noexcept;

    // Takes a record for running, on the driver's thread. Null if the token's launch has ended,
    // was withdrawn or swept: then the caller must do nothing.
    record* claim(token t) noexcept;

    // Gives an ended or withdrawn record back. requires: owned by the caller, payload destroyed.
    void recycle(record& r) noexcept;

    std::uint32_t size() const noexcept { return size_.load(std::memory_order_acquire); }
    record& at(std::uint32_t index) noexcept {
        record* chunk = chunks_[index / chunk_records].load(std::memory_order_acquire);
        return chunk[index % chunk_records];
    }

  private:
    record* pop() noexcept;
    void push(record& r) noexcept;
    bool grow() noexcept;

    // index + 1 of the first free record in the low bits, a tag that changes with every change above
    // (pop reads `next` of a record that another thread may have taken: the tag then differs).
    // Release in push, acquire in pop.
    alignas(64) std::atomic<std::uint64_t> free_{0};
    alignas(64) std::atomic<std::uint32_t> size_{0};  // release in grow, acquire in readers
    std::mutex growing_;
    std::array<std::atomic<record*>, max_chunks> chunks_{};
};

}  // namespace hostlaunch::core
