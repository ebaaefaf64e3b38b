// SPDX-License-Identifier: Apache-2.0
// The C++ library on the embedded driver: what its tests share.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/waiting.hpp"
#include "embedded/control.hpp"
#include "embedded/entry_points.hpp"
#include "hostlaunch/hostlaunch.hpp"

namespace hostlaunch::test {

inline abi::stream raw(stream_ref s) {
    return reinterpret_cast<abi::stream>(s.handle());
}
inline CUstream_st* public_handle(abi::stream s) {
    return reinterpret_cast<CUstream_st*>(s);
}

// What is alive in the driver, without the events: the library keeps one for each context.
inline std::vector<std::int64_t> live() {
    std::vector<std::int64_t> counts;
    for (const char* what : {"streams", "device_memory", "host_memory", "graphs", "graph_execs",
                             "user_objects", "pending"}) {
        counts.push_back(hostlaunch_embedded_live(what));
    }
    return counts;
}

inline bool nothing_outstanding() {
    const launch_stats s = stats();
    return s.pending + s.running + s.awaiting_release == 0;
}

// At the end all work has run, all of it is released, the counts add up and nothing is left in the
// driver.
class on_embedded : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_EQ(hostlaunch::driver().name, "embedded");
        live_before_ = live();
        before_ = stats();
    }
    void TearDown() override {
        hostlaunch_embedded_reset();
        set_unhandled_exception_handler(nullptr);
        EXPECT_EQ(hostlaunch_embedded_wait_idle(patience_ms), 0);
        EXPECT_TRUE(eventually(nothing_outstanding));
        const launch_stats s = stats();
        EXPECT_EQ(s.accepted, s.ran + s.raised + s.abandoned + s.dropped + s.cancelled);
        EXPECT_EQ(live(), live_before_);
    }

    std::uint64_t accepted() const { return stats().accepted - before_.accepted; }
    std::uint64_t ran() const { return stats().ran - before_.ran; }
    std::uint64_t raised() const { return stats().raised - before_.raised; }

  private:
    std::vector<std::int64_t> live_before_;
    launch_stats before_;
};

// A stream, which is closed before the check for leftovers.
class on_a_stream : public on_embedded {
  protected:
    void SetUp() override {
        on_embedded::SetUp();
        s_.emplace();
    }
    void TearDown() override {
        s_.reset();
        on_embedded::TearDown();
    }
    std::optional<stream> s_;
};

// Calls f, which must throw hostlaunch::error, and returns its code.
template <class F>
int code_thrown_by(F&& f) {
    try {
        f();
    } catch (const error& e) {
        EXPECT_FALSE(e.name().empty());
        EXPECT_NE(std::string(e.what()).find(": "), std::string::npos) << e.what();
        return e.code();
    }
    ADD_FAILURE() << "nothing was thrown";
    return 0;
}

template <class F>
void expect_misuse(misuse what, F&& f) {
    EXPECT_EQ(code_thrown_by(std::forward<F>(f)), static_cast<int>(what));
}

// What became of one callable and its copies.
struct fate {
    std::atomic<int> ran{0};
    std::atomic<int> destroyed{0};
    std::atomic<pid_t> ran_on{0};
    std::atomic<pid_t> destroyed_on{0};
};

// A callable that tells its fate. It can only be moved; one that was moved from tells nothing.
class watched {
  public:
    explicit watched(fate& f) : fate_(&f) {}
    watched(watched&& other) noexcept : fate_(std::exchange(other.fate_, nullptr)) {}
    watched& operator=(watched&&) = delete;
    ~watched() {
        if (fate_ == nullptr) return;
        fate_->destroyed_on = gettid();
        ++fate_->destroyed;
    }
    void operator()() const {
        fate_->ran_on = gettid();
        ++fate_->ran;
    }

  private:
    fate* fate_;
};

// The arguments of the newest call of cuLaunchHostFunc in the driver's log.
struct logged_launch {
    std::uint64_t fn = 0;
    std::uint64_t user_data = 0;
};
inline logged_launch newest_launch() {
    logged_launch newest;
    hostlaunch_embedded_call call{};
    for (int i = 0; hostlaunch_embedded_log_get(i, &call) == 0; ++i) {
        if (std::string(call.entry) == "cuLaunchHostFunc") newest = {call.args[1], call.args[2]};
    }
    return newest;
}

}  // namespace hostlaunch::test
