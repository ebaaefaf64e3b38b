// SPDX-License-Identifier: Apache-2.0
// One task on its way: a state word, its type and route, and 64 bytes for the payload in place.
//
// The state word holds generation and state. A record is moved between states by exactly one party:
//
//            launch             driver accepted
//   free ----------> launching ----------------> pending
//    ^                 |   |                      |   |
//    |  driver refused |   |   claim (the         |   |  abandonment, exit
//    |<----------------+   +--- driver's call) ---+   |
//    |                              |                 v
//    |                              v             abandoned, dropped
//    |                           running                |
//    |        recycle               |  finish           |
//    +---------------------- ran, raised <--------------+   (recycled alike, or leaked)
//
// Invariants
//  - Whoever moves a record out of launching or pending owns its payload from then on.
//  - The driver is handed a token, not a pointer: index and generation. `recycle` advances the
//    generation, so a token that was used or withdrawn never claims the record's next user.
//  - Only pending records are swept: a refused launch is never counted as anything.
//  - Record memory is never unmapped.
//
// A record that carries a host function of graphs goes another way (graphs/graph_task.hpp): it runs
// any number of times while graphs hold it, and whoever releases the last claim to it gives it
// back.
//
//          hold by a graph      object's destructor
//   free ----------> in_graph -----------------------> spent ---> recycle
//                       | take_back (its node was refused)
//                       v           the first of caller and driver to release its claim
//                    withdrawn ------------------------------> hollow ---> recycle, by the second
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "driver/abi.hpp"
#include "hostlaunch/detail/task_type.hpp"

namespace hostlaunch::core {

enum class state : std::uint8_t {
    free,
    launching,  // being handed to the driver; its call may already come
    pending,    // accepted, not started
    running,
    ran,  // this and the next four: ended, payload awaits release
    raised,
    abandoned,
    dropped,
    cancelled,
    leaked,     // ended; its payload stays to process end, since its function could still run
    in_graph,   // held by graphs, which may run it at any time
    spent,      // no graph can run it any more, or left behind by such a run: awaits release
    withdrawn,  // the caller has its payload back; a graph still refers to the record
    hollow,     // as withdrawn, and one of the two has released its claim
    remains,    // no task: a driver object that awaits its destruction
};

using hostlaunch::detail::outcome;
using hostlaunch::detail::task_type;

struct route;  // routes/route.hpp

using token = std::uint64_t;

struct alignas(128) record {
    static constexpr unsigned index_bits = 24;  // 16,777,216 records
    static constexpr unsigned state_bits = 8;
    static constexpr std::uint32_t record_bytes = 128;
    static constexpr std::uint32_t header_bytes = 64;
    static constexpr std::uint64_t last_generation = (std::uint64_t{1} << (64 - index_bits)) - 1;

    // generation << 8 | state. Moves are sequentially consistent (the sweep at exit and the
    // monitor's sleep rely on it), plain stores release, loads acquire: they publish the fields
    // below and the payload from the launching thread to the driver's thread and from there to the
    // releaser.
    std::atomic<std::uint64_t> word{0};
    std::atomic<std::uint64_t> next{0};  // the link to the next record in the list it is in
    // Written before `word` becomes launching, read by the monitor, which checks `word` after.
    std::atomic<abi::context> context{nullptr};
    std::atomic<std::uint64_t> stream_id{0};  // 0: not known
    std::atomic<abi::event> event{nullptr};   // behind native code; else see stream()
    std::uint32_t place = 0;  // of the pool's: the low half of a link to this record
    std::atomic<std::uint32_t> launched_at{0};  // coarse milliseconds, see process/monitor.hpp
    // The way that the task takes; null: the driver's thread calls our trampoline.
    std::atomic<const core::route*> route{nullptr};
    // Written by the owner before the launch, read by whoever owns the record afterwards.
    const task_type* type = nullptr;

    alignas(64) std::byte payload[64];

    static std::uint64_t make_word(std::uint64_t generation, state s) noexcept {
        return generation << state_bits | static_cast<std::uint64_t>(s);
    }
    static state state_of(std::uint64_t word) noexcept { return static_cast<state>(word & 0xff); }
    static std::uint64_t generation_of(std::uint64_t word) noexcept { return word >> state_bits; }

    // Its number in the pool.
    std::uint32_t index() const noexcept { return place / record_bytes; }

    // The stream's handle, for reports, in the place of the event that such a task has not. Null
    // for native code.
    void set_stream(abi::stream handle) noexcept {
        event.store(reinterpret_cast<abi::event>(handle), std::memory_order_relaxed);
    }
    abi::stream stream() const noexcept {
        if (route.load(std::memory_order_relaxed) != nullptr) return nullptr;
        return reinterpret_cast<abi::stream>(event.load(std::memory_order_relaxed));
    }

    // The record around a payload.
    static record& of(void* payload) noexcept {
        return *reinterpret_cast<record*>(static_cast<std::byte*>(payload) - header_bytes);
    }

    // What the driver is handed, from the word of the free record, whose low byte is zero.
    token token_from(std::uint64_t free_word) const noexcept {
        return free_word << (index_bits - state_bits) | index();
    }

    // Moves from one state to another within a generation; false if it is in another state.
    bool move(std::uint64_t generation, state from, state to) noexcept {
        std::uint64_t expected = make_word(generation, from);
        return word.compare_exchange_strong(expected, make_word(generation, to));
    }

    // As move, for who knows the word that the record had when it began launching.
    bool move_on(std::uint64_t launching_word, state to) noexcept {
        constexpr auto from = static_cast<std::uint64_t>(state::launching);
        std::uint64_t expected = launching_word;
        return word.compare_exchange_strong(
            expected, launching_word + (static_cast<std::uint64_t>(to) - from));
    }

    std::uint64_t generation() const noexcept {
        return generation_of(word.load(std::memory_order_relaxed));
    }
};
static_assert(sizeof(record) == record::record_bytes &&
              offsetof(record, payload) == record::header_bytes);

}  // namespace hostlaunch::core
