// SPDX-License-Identifier: Apache-2.0
// Records on their way from many threads to one: ended ones to the thread that releases payloads,
// tracked ones to the monitor.
//
// A lock-free intrusive stack: any thread pushes, allocating nothing; a drainer takes the whole
// list at once. After `push` the pusher must not touch the record. Each pushed record is taken
// once.
#pragma once

#include "core/task/pool_of_records.hpp"

namespace hostlaunch::core {

class record_stack {
  public:
    void push(record& r) noexcept {
        std::uint32_t head = head_.load(std::memory_order_relaxed);
        do {
            r.next.store(head, std::memory_order_relaxed);
        } while (!head_.compare_exchange_weak(head, r.index() + 1));
    }

    bool empty() const noexcept { return head_.load() == 0; }

    // Takes all and calls use(record) for each, in the order in which they were pushed. `use` must
    // recycle or keep the record, and may push to this list.
    template <class Use>
    void drain(Use&& use) {
        for (record* r = take_all(); r != nullptr;) {
            record* const next = after(*r);
            use(*r);
            r = next;
        }
    }

    // For who does not use them all at once: the oldest, which leads to the others; null if empty.
    record* take_all() noexcept { return at(reverse(head_.exchange(0))); }
    static record* after(const record& r) noexcept {
        return at(static_cast<std::uint32_t>(r.next.load(std::memory_order_relaxed)));
    }

    // For the child of a fork: what awaits release there belongs to the parent.
    void forget() noexcept { head_.store(0, std::memory_order_relaxed); }

  private:
    static record* at(std::uint32_t link) noexcept {
        return link == 0 ? nullptr : &record_pool::instance().at(link - 1);
    }

    static std::uint32_t reverse(std::uint32_t link) noexcept {
        std::uint32_t reversed = 0;
        while (link != 0) {
            record& r = record_pool::instance().at(link - 1);
            const auto next = static_cast<std::uint32_t>(r.next.load(std::memory_order_relaxed));
            r.next.store(reversed, std::memory_order_relaxed);
            reversed = link;
            link = next;
        }
        return reversed;
    }

    // index + 1 of the newest record. Push and drain are sequentially consistent: a pusher that
    // then finds a drain already asked for relies on that drain seeing its record.
    alignas(64) std::atomic<std::uint32_t> head_{0};
};

}  // namespace hostlaunch::core
