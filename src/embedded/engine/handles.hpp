// SPDX-License-Identifier: Apache-2.0
// Handles that are recognised when they are garbage, closed or of another kind.
//
// A handle is no address: bits 56 to 59 hold the kind, 28 to 55 a generation, 4 to 27 an index.
// A spent slot goes to the end of the free list and its generation grows, so a stale handle is
// told from its slot's next user. A slot whose generations are used up is retired.
#pragma once

#include <array>
#include <cstdint>
#include <deque>

#include "embedded/abi.hpp"

namespace hostlaunch::embedded {

enum class handle_kind : unsigned {
    none = 0,
    context,
    stream,
    event,
    graph,
    node,
    exec,
    user_object,
    pool,
    count
};

// Guarded by driver::mutex.
class handle_table {
  public:
    // Throws std::bad_alloc; then nothing changed.
    std::uint64_t add(handle_kind kind, void* object);

    // The object, or null: then `why` says whether the handle is unknown or its context is gone.
    void* find(handle_kind kind, std::uint64_t handle, abi::result& why) const;

    void remove(std::uint64_t handle);

    // From now on the handle stands for an object that went away with its context.
    // requires: the handle is registered
    void orphan(std::uint64_t handle);

    // Frees a slot that `orphan` left. False if the handle is no such slot.
    bool forget_orphan(handle_kind kind, std::uint64_t handle);

    std::int64_t live(handle_kind kind) const { return live_[static_cast<unsigned>(kind)]; }

  private:
    struct slot {
        void* object = nullptr;
        std::uint32_t generation = 1;
        std::uint32_t next_free = 0;
        handle_kind kind = handle_kind::none;
    };

    const slot* at(handle_kind kind, std::uint64_t handle) const;
    void free_slot(std::uint32_t index);

    std::deque<slot> slots_{1};    // grows, never moves
    std::uint32_t free_head_ = 0;  // the slot 0 is never used: 0 ends the list
    std::uint32_t free_tail_ = 0;
    std::array<std::int64_t, static_cast<unsigned>(handle_kind::count)> live_{};
};

template <class T>
std::uint64_t handle_bits(T handle) {
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(handle));
}

template <class T>
T make_handle(std::uint64_t bits) {
    return reinterpret_cast<T>(static_cast<std::uintptr_t>(bits));
}

}  // namespace hostlaunch::embedded
