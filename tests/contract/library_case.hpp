// SPDX-License-Identifier: Apache-2.0
// The C++ library on any driver: what its tests share.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "contract/driver.hpp"
#include "embedded/control.hpp"
#include "embedded/entry_points.hpp"  // before the public classes, whose names it has for handles
#include "hostlaunch/hostlaunch.hpp"
#include "support/waiting.hpp"

namespace hostlaunch::test {

inline abi::stream raw(stream_ref s) {
    return reinterpret_cast<abi::stream>(s.handle());
}
inline CUstream_st* public_handle(abi::stream s) {
    return reinterpret_cast<CUstream_st*>(s);
}

// The embedded driver tells what is alive in it; a real one does not. -1: unknown.
inline std::int64_t live_of(const char* what) {
    void* const knob = contract::embedded_knob("hostlaunch_embedded_live");
    return knob == nullptr ? -1 : reinterpret_cast<decltype(&hostlaunch_embedded_live)>(knob)(what);
}
// Whether there are `count` of these, as far as the driver tells.
inline bool are_live(const char* what, std::int64_t count) {
    const std::int64_t told = live_of(what);
    return told == -1 || told == count;
}

// Without the events: the library keeps one for each context.
inline std::vector<std::int64_t> live() {
    std::vector<std::int64_t> counts;
    for (const char* what : {"streams", "device_memory", "host_memory", "graphs", "graph_execs",
                             "user_objects", "pending"}) {
        counts.push_back(live_of(what));
    }
    return counts;
}

// The embedded driver has nothing left to do.
inline void wait_idle() {
    void* const knob = contract::embedded_knob("hostlaunch_embedded_wait_idle");
    if (knob == nullptr) return;
    EXPECT_EQ(reinterpret_cast<decltype(&hostlaunch_embedded_wait_idle)>(knob)(patience_ms), 0);
}

inline bool nothing_outstanding() {
    const launch_stats s = stats();
    return s.pending + s.running + s.awaiting_release == 0;
}

// At the end all work has run, all of it is released, the counts add up and, where the driver
// tells, nothing is left in it. No context is current.
class on_any_driver : public testing::Test {
  protected:
    void SetUp() override {
        (void)hostlaunch::driver();
        live_before_ = live();
        before_ = stats();
    }
    void TearDown() override {
        set_unhandled_exception_handler(nullptr);
        wait_idle();
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
template <class Driver>
class with_a_stream : public Driver {
  protected:
    void SetUp() override {
        Driver::SetUp();
        s_.emplace();
    }
    void TearDown() override {
        s_.reset();
        Driver::TearDown();
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

}  // namespace hostlaunch::test
