// SPDX-License-Identifier: Apache-2.0
// Threads that run tasks once their signals have told: one looks and runs what it finds.
//
// Seats. The looker has the seat: it alone asks events and takes what is ready, and runs it itself,
// which is the shortest way. A standby watches it while it runs something and more is to be done,
// and takes the seat once the looker has been in one run for two looks; the former looker finds
// that out when it comes back. Everybody else sleeps. With nothing pending all do.
//
// Looking takes no GIL and no lock. While work is near (200 us after the last task) the looker
// spins, then naps for an eighth of the time it has waited, 20 us to 1 ms; a new task ends a long
// nap. A pool that spins keeps a core while anything is pending.
//
// Who protects what: `mutex_` guards the seats and is held for a few instructions, never across a
// driver call or a task. What the looker works on belongs to it: it is handed on by `runs_`, which
// the looker makes odd before a run, and the mutex. A task is added before the bits are read that
// say who sleeps, and who goes to sleep sets its bit before it looks at what is pending (all
// sequentially consistent): one of the two sees the other.
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

#include "core/objects/context.hpp"
#include "core/routes/signal_list.hpp"

namespace hostlaunch::core {

class worker_pool {
  public:
    explicit worker_pool(unsigned threads, bool spin = false) noexcept
        : wanted_(threads), spins_(spin) {}
    worker_pool(const worker_pool&) = delete;
    worker_pool& operator=(const worker_pool&) = delete;

    // The pool of everybody: HOSTLAUNCH_WORKERS threads (4), made at the first use, never
    // destroyed.
    static worker_pool& common();
    // Stops it if it has been made. As stop.
    static void stop_common() noexcept;

    // Starts the threads if they have not been; false if none is to be had, or the pool was
    // stopped.
    bool start() noexcept;

    bool is_started() const noexcept { return started_.load(std::memory_order_acquire); }

    // Before a launch: room for it. `add` uses it up, `give_back` returns it.
    bool reserve() noexcept { return signals_.reserve(); }
    void give_back() noexcept { signals_.give_back(); }
    void add(stream_key key, const signal_entry& s) noexcept;

    // Ends the threads and waits for them, bounded: one that is in a task, or calls this, goes on.
    // Without the GIL and without locks.
    void stop(std::chrono::milliseconds limit) noexcept;

    // Tasks that have not started. Any thread.
    std::uint64_t pending() const noexcept { return pending_.load(); }

  private:
    using clock = std::chrono::steady_clock;
    using lock = std::unique_lock<std::mutex>;
    using taken = std::array<ready_task, 512>;
    static constexpr int nobody = -1;

    static void* thread_main(void* start);
    bool start_thread(int number) noexcept;
    void work(int self);
    void stand_by(lock& held, int self);
    bool is_stuck(std::uint32_t run) const noexcept;
    bool watch_looker(lock& held);
    void look_and_run(int self);
    bool run_ready(int self, relaxed_capture& mode);
    std::size_t take_ready(taken& out) noexcept;
    bool leave_seat_if_idle();
    void pause_looking(clock::time_point now);
    void wake_sleepers() noexcept;

    const unsigned wanted_;
    const bool spins_;
    signal_list signals_;

    std::atomic<std::uint64_t> pending_{0};  // added, and not taken for running
    std::atomic<std::uint32_t> runs_{0};     // odd while the looker runs tasks
    std::atomic<bool> unattended_{true};     // nobody looks
    std::atomic<bool> standby_sleeps_{false};
    std::atomic<bool> napping_{false};   // the looker is in a long nap
    std::atomic<bool> stopping_{false};  // written under the mutex
    std::atomic<bool> started_{false};   // all threads that were wanted

    std::mutex mutex_;
    std::condition_variable bench_;  // who has no seat
    std::condition_variable standby_nap_;
    std::condition_variable looker_nap_;
    int looker_ = nobody;
    int standby_ = nobody;
    std::vector<pthread_t> threads_;

    // The looker's.
    std::deque<ready_task> ready_;
    std::uint64_t taken_in_all_ = 0;
    std::uint64_t added_seen_ = 0;
    clock::time_point last_run_;
    clock::time_point last_news_;  // a run or an addition
};

}  // namespace hostlaunch::core
