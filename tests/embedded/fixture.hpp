// SPDX-License-Identifier: Apache-2.0
// What the tests of the embedded driver share: a current context, gates, child processes.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "embedded/control.hpp"
#include "embedded/entry_points.hpp"
#include "support/child.hpp"
#include "support/waiting.hpp"

namespace hostlaunch::embedded::test {

using hostlaunch::test::in_forked_child;
using hostlaunch::test::patience;
using hostlaunch::test::patience_ms;

// Its end waits for all work, so whatever that work points to must be declared before it.
class blocker : public hostlaunch::test::blocker {
  public:
    ~blocker() {
        let_go();
        EXPECT_EQ(hostlaunch_embedded_wait_idle(patience_ms), 0);
    }
    static void run(void* self) { (*static_cast<blocker*>(self))(); }
};

inline void count_up(void* counter) {
    static_cast<std::atomic<int>*>(counter)->fetch_add(1);
}

// Runs `body` on another thread; `finished` tells whether it has returned.
class background {
  public:
    explicit background(std::function<void()> body)
        : thread_([this, body = std::move(body)] {
              started_ = true;
              body();
              finished_ = true;
          }) {}
    ~background() {
        if (thread_.joinable()) {
            thread_.join();
        }
    }
    void wait_until_started() const {
        while (!started_) {
            std::this_thread::yield();
        }
    }
    bool finished() const { return finished_; }
    void join() { thread_.join(); }

  private:
    std::atomic<bool> started_{false};
    std::atomic<bool> finished_{false};
    std::thread thread_;
};

// Gives a call that must block time to return by mistake. A test that relies on it cannot fail by
// being slow: it can only miss a mistake.
inline void give_it_time() {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

// The primary context of device 0 is current; at the end nothing is left behind.
class embedded_driver : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_EQ(cuInit(0), success);
        ASSERT_EQ(cuDevicePrimaryCtxRetain(&ctx_, 0), success);
        ASSERT_EQ(cuCtxSetCurrent(ctx_), success);
    }

    void TearDown() override {
        hostlaunch_embedded_reset();
        for (stream s : streams_) {
            cuStreamDestroy_v2(s);
        }
        for (event e : events_) {
            cuEventDestroy_v2(e);
        }
        EXPECT_EQ(hostlaunch_embedded_wait_idle(patience_ms), 0);
        for (const char* what : {"streams", "events", "device_memory", "host_memory", "pending",
                                 "graphs", "graph_execs", "user_objects"}) {
            EXPECT_EQ(hostlaunch_embedded_live(what), 0) << what;
        }
        EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), success);
    }

    stream make_stream(unsigned flags = stream_non_blocking) {
        stream s = nullptr;
        EXPECT_EQ(cuStreamCreateWithPriority(&s, flags, 0), success);
        streams_.push_back(s);
        return s;
    }
    event make_event(unsigned flags = event_disable_timing) {
        event e = nullptr;
        EXPECT_EQ(cuEventCreate(&e, flags), success);
        events_.push_back(e);
        return e;
    }

    context ctx_ = nullptr;

  private:
    std::vector<stream> streams_;
    std::vector<event> events_;
};

}  // namespace hostlaunch::embedded::test
