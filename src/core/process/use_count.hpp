// SPDX-License-Identifier: Apache-2.0
// A count of uses in progress with a closed bit: the gate of callbacks, and what guards each
// handle.
//
//   open, n uses   --enter--> open, n+1         closed, n uses --leave--> closed, n-1
//   open, n uses   --close--> closed, n         closed: enter fails and counts nothing
//
// Exactly one caller learns that it is the last: `close` on an idle object, else the `leave` that
// takes a closed object's count to zero. That one may destroy what is guarded. Lock-free, any
// thread. All operations are sequentially consistent read-modify-writes on one word, so what users
// did before leaving is visible to the last one.
#pragma once

#include <atomic>
#include <cstdint>

namespace hostlaunch::core {

class use_count {
  public:
    // False if closed.
    bool enter() noexcept {
        std::uint64_t seen = word_.load(std::memory_order_relaxed);  // verified by the exchange
        do {
            if ((seen & closed_bit) != 0) return false;
        } while (!word_.compare_exchange_weak(seen, seen + one_use));
        return true;
    }

    // True if the object is closed and this was its last use.
    bool leave() noexcept { return word_.fetch_sub(one_use) == (one_use | closed_bit); }

    // Forbids further uses. True if this call closed it and no use is in progress.
    bool close() noexcept { return word_.fetch_or(closed_bit) == 0; }

    bool is_closed() const noexcept { return (word_.load() & closed_bit) != 0; }
    std::uint64_t uses() const noexcept { return word_.load() / one_use; }

  private:
    static constexpr std::uint64_t closed_bit = 1;
    static constexpr std::uint64_t one_use = 2;

    std::atomic<std::uint64_t> word_{0};
};

}  // namespace hostlaunch::core
