// SPDX-License-Identifier: Apache-2.0
// Listing signals, and looking at them.
#include "core/routes/signal_list.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "core/objects/context_failure.hpp"
#include "driver/driver.hpp"

namespace hostlaunch::core {
namespace {

using driver_library::api;
using std::chrono::steady_clock;

constexpr std::chrono::milliseconds behind_every{10};
constexpr std::size_t behind_at_once = 1000;  // 0.1 ms on one H200
constexpr std::size_t most_idle_lanes = 256;
constexpr std::size_t small_inbox = 4096;

// The oldest ones are gone: their room is used again once they are most.
constexpr std::size_t worth_moving = 64;

}  // namespace

bool signal_list::reserve() noexcept {
    const std::lock_guard lock(mutex_);
    try {
        const std::size_t needed = inbox_.size() + reserved_ + 1;
        if (inbox_.capacity() < needed) inbox_.reserve(std::max(needed, 2 * inbox_.capacity()));
    } catch (const std::bad_alloc&) {
        return false;
    }
    ++reserved_;
    return true;
}

void signal_list::give_back() noexcept {
    const std::lock_guard lock(mutex_);
    --reserved_;
}

void signal_list::list(stream_key key, const signal_entry& s) noexcept {
    const std::lock_guard lock(mutex_);
    --reserved_;
    inbox_.push_back({key, s});  // there is room
}

void signal_list::lane::step() noexcept {
    ++head;
    if (head == signals.size()) {
        signals.clear();
        if (signals.capacity() > worth_moving) std::vector<signal_entry>().swap(signals);
        head = 0;
    } else if (head >= worth_moving && head * 2 > signals.size()) {
        signals.erase(signals.begin(), signals.begin() + static_cast<std::ptrdiff_t>(head));
        head = 0;
    }
}

// From the inbox into the lanes. Throws without memory; nothing is lost then.
void signal_list::sort_in() {
    if (sorted_ == sorting_.size()) {
        sorted_ = 0;
        sorting_.clear();
        const std::lock_guard lock(mutex_);
        sorting_ = inbox_;
        inbox_.clear();
        if (reserved_ == 0 && inbox_.capacity() > small_inbox) std::vector<listed>().swap(inbox_);
    }
    for (; sorted_ < sorting_.size(); ++sorted_) {
        const listed& l = sorting_[sorted_];
        lane& to = lanes_[l.key];
        if (to.empty()) active_.push_back(l.key);
        try {
            to.signals.push_back(l.s);
        } catch (...) {
            if (to.empty()) active_.pop_back();
            throw;
        }
    }
    if (sorting_.capacity() > small_inbox) std::vector<listed>().swap(sorting_), sorted_ = 0;
}

// True if the oldest one told; it is gone then.
bool signal_list::ask_head(lane& l, std::deque<ready_task>& ready) {
    const signal_entry& s = l.signals[l.head];
    if (s.event != nullptr) {
        const int code = api().event_query(s.event);
        if (code == abi::error_not_ready) {
            l.doubted = false;
            return false;
        }
        // An error is the end of the context if it is told twice: one may pass.
        if (code != abi::success && !std::exchange(l.doubted, true)) return false;
        ready.push_back({s.task, s.type, code});
        destroy_event(s.event, code);
    }
    l.step();
    return true;
}

void signal_list::look_at_heads(std::deque<ready_task>& ready) {
    for (std::size_t i = 0; i < active_.size();) {
        lane& l = lanes_[active_[i]];
        while (!l.empty() && ask_head(l, ready)) {
        }
        if (l.empty()) {
            l.doubted = false;
            active_[i] = active_.back();
            active_.pop_back();
        } else {
            ++i;
        }
    }
}

// True if it told that its work is done; its event is null then.
bool signal_list::take_if_done(signal_entry& s, std::deque<ready_task>& ready) {
    if (s.event == nullptr || api().event_query(s.event) != abi::success) return false;
    ready.push_back({s.task, s.type, abi::success});
    destroy_event(s.event, abi::success);
    s.event = nullptr;
    return true;
}

// A limited number of those behind the heads, going on where the last look ended: two threads may
// have listed in another order than they enqueued. All that the stream had before one that is done
// are done as well, though they were asked too early: they go first (contract P1).
void signal_list::look_behind_heads(std::deque<ready_task>& ready) {
    std::size_t left = behind_at_once;
    for (std::size_t lanes = active_.size(); lanes > 0 && left > 0; --lanes) {
        if (lane_behind_ >= active_.size()) lane_behind_ = 0;
        lane& l = lanes_[active_[lane_behind_]];
        std::size_t at = std::max(place_behind_, l.head + 1);
        bool asked_before = false;
        for (; at < l.signals.size() && left > 0; ++at, --left) {
            const abi::event event = l.signals[at].event;
            if (event == nullptr || api().event_query(event) != abi::success) continue;
            for (std::size_t i = asked_before ? at : l.head; i <= at; ++i)
                take_if_done(l.signals[i], ready);
            asked_before = true;
        }
        place_behind_ = at;
        if (at < l.signals.size()) return;
        place_behind_ = 0;
        ++lane_behind_;
    }
}

// Ids of streams are not used again: lanes of streams that are gone must not pile up.
void signal_list::forget_idle_lanes() {
    if (lanes_.size() - active_.size() <= most_idle_lanes) return;
    std::erase_if(lanes_, [](const auto& entry) { return entry.second.empty(); });
}

std::size_t signal_list::look(std::deque<ready_task>& ready) noexcept {
    const std::size_t before = ready.size();
    try {
        sort_in();
        look_at_heads(ready);
        const auto now = steady_clock::now();
        if (now - looked_behind_ >= behind_every) {
            looked_behind_ = now;
            look_behind_heads(ready);
            forget_idle_lanes();
        }
    } catch (const std::bad_alloc&) {
        // What was found is in `ready`, what was not is where it was.
    }
    return ready.size() - before;
}

}  // namespace hostlaunch::core
