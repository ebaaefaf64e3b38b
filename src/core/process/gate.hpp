// SPDX-License-Identifier: Apache-2.0
// The gate that every callback passes, and that exit closes.
//
// While the gate counts a driver thread, exit waits for it (bounded); once it is closed no callback
// starts any more, and the launches that did not start are dropped.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace hostlaunch::core {

// A use count with a second bit: while somebody reads traces, callbacks take the way that marks.
// One test finds both bits. All operations are sequentially consistent.
class callback_gate {
  public:
    // False if closed.
    bool enter() noexcept { return enter_unless(closed_bit); }
    // False if closed or watched: for callbacks, which then enter by the way that marks.
    bool enter_unwatched() noexcept { return enter_unless(closed_bit | watched_bit); }

    void leave() noexcept { word_.fetch_sub(one_use); }
    void close() noexcept { word_.fetch_or(closed_bit); }
    void set_watched(bool on) noexcept {
        if (on) {
            word_.fetch_or(watched_bit);
        } else {
            word_.fetch_and(~watched_bit);
        }
    }

    bool is_closed() const noexcept { return (word_.load() & closed_bit) != 0; }
    std::uint64_t uses() const noexcept { return word_.load() / one_use; }

  private:
    static constexpr std::uint64_t closed_bit = 1;
    static constexpr std::uint64_t watched_bit = 2;
    static constexpr std::uint64_t one_use = 4;

    bool enter_unless(std::uint64_t bits) noexcept {
        std::uint64_t seen = word_.load(std::memory_order_relaxed);  // verified by the exchange
        do {
            if ((seen & bits) != 0) return false;
        } while (!word_.compare_exchange_weak(seen, seen + one_use));
        return true;
    }

    std::atomic<std::uint64_t> word_{0};
};

namespace detail {
// Alone on its cache line: every callback writes it, and every launch reads what lies beside.
struct alignas(64) lone_gate {
    callback_gate gate;
};
inline constinit lone_gate the_gate;
}  // namespace detail

// Has no destructor to run: driver threads pass it until the process is gone.
inline callback_gate& gate() noexcept {
    return detail::the_gate.gate;
}

// How long exit waits for functions that are running: HOSTLAUNCH_EXIT_TIMEOUT in seconds, from 0 to
// a million; 5 if it is unset or no such number.
std::chrono::duration<double> exit_limit() noexcept;

// Never returns: where a thread goes that its runtime has given up, or that nothing may unwind.
[[noreturn]] void park() noexcept;

}  // namespace hostlaunch::core
