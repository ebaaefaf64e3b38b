// SPDX-License-Identifier: Apache-2.0
// Calls made on threads of their own to see whether they block.
//
// "Blocks" means that a call has not returned 200 ms after it was entered; "returns" means that it
// returned while the function was still held, for which it gets 10 s. So a slow machine can make a
// case miss a fault, never report one that is not there.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include "contract/driver.hpp"
#include "support/waiting.hpp"

namespace hostlaunch::contract {

using test::blocker;
using test::eventually;
using test::patience;

inline constexpr std::chrono::milliseconds a_while{200};
inline constexpr std::chrono::seconds promptly{10};

// Says what this driver does where the case demands nothing, to be compared between drivers.
inline void observe(const char* what, long long seen) {
    std::printf("observed: %s: %lld\n", what, seen);
}

// Two threads meet in it, again and again.
class meeting {
  public:
    // False if the other does not come.
    bool enter() {
        std::unique_lock held(mutex_);
        const int round = round_;
        if (++inside_ == 2) {
            inside_ = 0;
            ++round_;
            changed_.notify_all();
            return true;
        }
        return changed_.wait_for(held, promptly, [&] { return round_ != round; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int inside_ = 0;
    int round_ = 0;
};

// One driver call on a thread of its own, in a context of its choice.
class call {
  public:
    call(context current, std::function<result()> body)
        : thread_([this, current, body = std::move(body)] {
              if (current != nullptr) api().ctx_set_current(current);
              entered_.set_value();
              answer_.set_value(body());
          }) {}
    ~call() { thread_.join(); }
    call(const call&) = delete;
    call& operator=(const call&) = delete;

    bool blocks() {
        entry_.wait();
        return returned_.wait_for(a_while) == std::future_status::timeout;
    }
    bool returns() { return returned_.wait_for(promptly) == std::future_status::ready; }

    // What the call returned, or -1 if it does not return.
    result answer() {
        return returned_.wait_for(patience) == std::future_status::ready ? returned_.get() : -1;
    }

  private:
    std::promise<void> entered_;
    std::promise<result> answer_;
    std::future<void> entry_{entered_.get_future()};
    std::shared_future<result> returned_{answer_.get_future()};
    std::thread thread_;  // last: it uses the others
};

inline void count_up(void* counter) {
    static_cast<std::atomic<int>*>(counter)->fetch_add(1);
}

}  // namespace hostlaunch::contract
