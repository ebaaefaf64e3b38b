// SPDX-License-Identifier: Apache-2.0
// What tests wait with: conditions that come true in bounded time, and functions that block.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace hostlaunch::test {

inline constexpr std::chrono::seconds patience{60};  // for what must happen
inline constexpr int patience_ms = 60'000;

// True as soon as `condition` is, false after `limit`.
template <class Condition>
bool eventually(Condition&& condition, std::chrono::milliseconds limit = patience) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline) return condition();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

// True if `condition` stays true for the whole of `span`. Being slow can only miss a mistake.
template <class Condition>
bool stays(Condition&& condition, std::chrono::milliseconds span) {
    return !eventually([&condition] { return !condition(); }, span);
}

// A host function that reports its start and then waits to be let go.
// requires: it has ended, or never starts, before the blocker is destroyed.
class blocker {
  public:
    blocker() = default;
    blocker(const blocker&) = delete;
    blocker& operator=(const blocker&) = delete;
    ~blocker() { let_go(); }

    static void run(void* self) { (*static_cast<blocker*>(self))(); }
    void operator()() {
        std::unique_lock lock(mutex_);
        running_ = true;
        changed_.notify_all();
        EXPECT_TRUE(changed_.wait_for(lock, patience, [this] { return let_go_; }));
        ended_ = true;
    }

    // False, and a failure, if the function does not come.
    bool wait_until_running() {
        std::unique_lock lock(mutex_);
        const bool comes = changed_.wait_for(lock, patience, [this] { return running_; });
        EXPECT_TRUE(comes) << "the function that blocks does not run";
        return comes;
    }
    void let_go() {
        const std::lock_guard lock(mutex_);
        let_go_ = true;
        changed_.notify_all();
    }
    bool is_held() {
        const std::lock_guard lock(mutex_);
        return running_ && !ended_;
    }
    bool has_ended() {
        const std::lock_guard lock(mutex_);
        return ended_;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool running_ = false;
    bool let_go_ = false;
    bool ended_ = false;
};

}  // namespace hostlaunch::test
