// SPDX-License-Identifier: Apache-2.0
// One launch: a state word, what the housekeeper must know, and 64 bytes for the payload in place.
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
//    +---------------------- ran, raised <--------------+   (recycled alike, or kept)
//
// Invariants
//  - Whoever moves a record out of launching or pending owns its payload from then on.
//  - The driver is handed a token, not a pointer: index and generation. `recycle` advances the
//    generation, so a token that was used or withdrawn never claims the record's next user.
//  - Only pending records are swept: a refused launch is never counted as anything.
//  - Record memory is never unmapped.
//
// A record that carries a host function of graphs goes another way (graph_function.hpp): it runs
// any number of times while graphs hold it, and whoever lets go of it last gives it back.
//
//            attach             object's destructor
//   free ----------> attached -----------------------> spent ---> recycle
//                       | take_back (its node was refused)
//                       v           the first of caller and driver to let go
//                    withdrawn ------------------------------> hollow ---> recycle, by the second
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "driver/abi.hpp"

namespace hostlaunch::detail {
struct closure_operations;
}

namespace hostlaunch::core {

enum class state : std::uint8_t {
    free,
    launching,  // being handed to the driver; its call may already come
    pending,    // accepted, not started
    running,
    ran,  // the last four: ended, payload awaits release
    raised,
    abandoned,
    dropped,
    kept,       // ended; its payload stays to process end, since its function could still run
    attached,   // held by graphs, which may run it at any time
    spent,      // no graph can run it any more, or left behind by such a run: awaits release
    withdrawn,  // the caller has its payload back; a graph still refers to the record
    hollow,     // as withdrawn, and one of the two has let go
};

enum class record_kind : std::uint32_t {
    gated,  // the driver calls our trampoline with a token
    as_is,  // the driver calls foreign compiled code; an event behind it tells when it has run
    as_is_unknown,  // as above, but the code may be Python in disguise: exit waits for it
};

using token = std::uint64_t;

struct alignas(128) record {
    static constexpr unsigned index_bits = 24;  // 16,777,216 records
    static constexpr unsigned state_bits = 8;
    static constexpr std::uint64_t last_generation = (std::uint64_t{1} << (64 - index_bits)) - 1;

    // generation << 8 | state. Moves are sequentially consistent (the sweep at exit and the
    // housekeeper's sleep rely on it), plain stores release, loads acquire: they publish the fields
    // below and the payload from the launching thread to the driver's thread and from there to the
    // releaser.
    std::atomic<std::uint64_t> word{0};
    std::atomic<std::uint64_t> next{0};  // the link to the next record in the list it is in
    // Written before `word` becomes launching, read by the housekeeper, which checks `word` after.
    std::atomic<abi::context> context{nullptr};
    std::atomic<abi::stream> stream{nullptr};
    std::atomic<abi::event> event{nullptr};  // behind an as-is launch
    std::uint32_t index = 0;
    std::uint32_t place = 0;  // of the pool's: the low half of a link to this record
    std::atomic<std::uint32_t> launched_at{0};  // coarse milliseconds, see housekeeper.hpp
    std::atomic<record_kind> kind{record_kind::gated};
    // How the C++ surface runs and destroys the payload; null where Python owns it. Written by the
    // owner before the launch, read by whoever owns the record afterwards.
    const hostlaunch::detail::closure_operations* operations = nullptr;

    alignas(64) std::byte payload[64];

    static std::uint64_t make_word(std::uint64_t generation, state s) noexcept {
        return generation << state_bits | static_cast<std::uint64_t>(s);
    }
    static state state_of(std::uint64_t word) noexcept { return static_cast<state>(word & 0xff); }
    static std::uint64_t generation_of(std::uint64_t word) noexcept { return word >> state_bits; }

    // What the driver is handed, from the word of the free record, whose low byte is zero.
    token token_from(std::uint64_t free_word) const noexcept {
        return free_word << (index_bits - state_bits) | index;
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
static_assert(sizeof(record) == 128);

}  // namespace hostlaunch::core
