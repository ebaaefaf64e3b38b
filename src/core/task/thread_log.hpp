// SPDX-License-Identifier: Apache-2.0
// What one thread has marked: what it does now, and a ring of what it did.
//
// The owner writes and never waits. One reader empties the ring; any number look at what the thread
// does now. Logs are kept to process end, since a reader may look at any time, and are used again
// by later threads.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "core/task/names.hpp"

namespace hostlaunch::core::trace {

enum class phase : std::uint8_t {
    none,
    launches,  // the launching call begins to enqueue
    accepted,  // the driver has taken the function
    refused,
    ready,  // the stream has got there: a thread enters with the function
    runs,   // it has what it needs, the GIL for Python, and calls the function
    ran,    // the function has returned, or an exception has left it:
    raised,
    released,  // what it held is gone
    waits,     // a call of the library waits for a stream
};

struct subject {
    std::uint64_t token;   // of the launch; 0 where nothing tells launches apart
    std::uint64_t stream;  // its handle
    name_id name;
    bool replayed;  // a graph's run: its token comes again, and no launch belongs to it
};

struct event {
    std::uint64_t at;  // ticks
    // When what ends here began: the launching call for accepted, the entry for runs.
    std::uint64_t began;
    subject of;
    phase now;
};

class thread_log {
  public:
    static constexpr std::uint32_t ring_events = 1u << 14;

    // The owning thread alone. An event that finds no room is counted as lost.
    void add(const event& e) noexcept;
    void set_current(const event& e) noexcept;
    void clear_current() noexcept;

    // One reader at a time: calls use(event) for what is in the ring, oldest first.
    template <class Use>
    void drain(Use&& use) {
        const std::uint32_t end = written_.load(std::memory_order_acquire);
        for (std::uint32_t at = read_.load(std::memory_order_relaxed); at != end; ++at) {
            use(ring_.load(std::memory_order_relaxed)[at % ring_events]);
            read_.store(at + 1, std::memory_order_release);  // acquired by add: the place is free
        }
    }
    // The same reader: how many events were lost since the last call.
    std::uint32_t take_lost() noexcept { return lost_.exchange(0, std::memory_order_relaxed); }

    // Any thread: what the owner does now; phase none if nothing. False if it changes all along.
    bool read_current(event& out) const noexcept;
    // Its number in the kernel, and what pthreads and Python call it.
    int thread() const noexcept { return thread_.load(std::memory_order_relaxed); }
    std::uint64_t handle() const noexcept { return handle_.load(std::memory_order_relaxed); }

  private:
    friend struct logs;

    event* ring() noexcept;

    std::atomic<std::uint32_t> written_{0};
    std::atomic<std::uint32_t> read_{0};
    std::atomic<std::uint32_t> lost_{0};
    std::atomic<int> thread_{0};
    std::atomic<std::uint64_t> handle_{0};
    std::atomic<bool> taken_{false};
    std::atomic<thread_log*> next_{nullptr};
    // A sequence lock: odd while the owner writes.
    std::atomic<std::uint32_t> sequence_{0};
    std::array<std::atomic<std::uint64_t>, 4> current_{};
    std::atomic<event*> ring_{nullptr};  // made with the first event; published by written_
};

// The first of all logs there are, null if there is none; and the one behind it.
thread_log* first_log() noexcept;
thread_log* next_log(const thread_log& log) noexcept;

// Null if there is no memory, or too many threads have one.
thread_log* log_of_this_thread() noexcept;

}  // namespace hostlaunch::core::trace
