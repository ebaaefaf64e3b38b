// SPDX-License-Identifier: Apache-2.0
// The signals of a pool, looked at stream by stream.
//
// Events are asked the oldest of each stream first: behind one that has not completed, none of the
// stream's has. They are listed after the driver accepted them, so two threads may list in another
// order than the stream has; some others are therefore asked now and then. An event tells the
// failure of its context by itself. Events are not reused: one that is kept may die with its
// context, and the driver does not check handles.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/task/signal_type.hpp"

namespace hostlaunch::core {

// One task on its way: the record by token, since it may be cancelled and reused meanwhile, and the
// event, which belongs to the list.
struct signal_entry {
    token task = 0;
    abi::event event = nullptr;
    const signal_type* type = nullptr;
};

// A signal that has told: the event is destroyed.
struct ready_task {
    token task = 0;
    const signal_type* type = nullptr;
    int code = abi::success;
};

// Which stream: an id that the driver never uses again, while handles are.
using stream_key = std::uint64_t;

// The signals of one pool. Listing is for any thread and takes a short mutex; everything else is
// for the one thread that looks.
class signal_list {
  public:
    // Room for one more, so that listing cannot fail once the driver has accepted. False: no
    // memory.
    bool reserve() noexcept;
    void give_back() noexcept;  // a reservation that was not used
    void list(stream_key key, const signal_entry& s) noexcept;

    // Asks the events; what has told is added to `ready`. Returns how many. requires: relaxed
    // capture mode. Out of memory it finds less, and the rest the next time.
    std::size_t look(std::deque<ready_task>& ready) noexcept;

  private:
    struct listed {
        stream_key key;
        signal_entry s;
    };
    // The signals of one stream, oldest first. Those before `head` are gone; one in the middle that
    // told out of order has a null event.
    struct lane {
        std::vector<signal_entry> signals;
        std::size_t head = 0;
        bool doubted = false;  // the last answer was an error: the second one counts

        bool empty() const noexcept { return head == signals.size(); }
        void step() noexcept;
    };

    void sort_in();
    void look_at_heads(std::deque<ready_task>& ready);
    bool ask_head(lane& l, std::deque<ready_task>& ready);
    static bool take_if_done(signal_entry& s, std::deque<ready_task>& ready);
    void look_behind_heads(std::deque<ready_task>& ready);
    void forget_idle_lanes();

    std::mutex mutex_;  // guards the next two
    std::vector<listed> inbox_;
    std::size_t reserved_ = 0;

    std::vector<listed> sorting_;  // taken out of the inbox, from `sorted_` on not in a lane yet
    std::size_t sorted_ = 0;
    std::unordered_map<stream_key, lane> lanes_;
    std::vector<stream_key> active_;  // lanes that are not empty
    std::chrono::steady_clock::time_point looked_behind_;
    std::size_t lane_behind_ = 0;  // where the next look behind the heads goes on
    std::size_t place_behind_ = 0;
};

}  // namespace hostlaunch::core
