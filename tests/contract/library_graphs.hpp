// SPDX-License-Identifier: Apache-2.0
// What the cases about graphs through the C++ library share.
#pragma once

#include <optional>
#include <thread>
#include <utility>

#include "contract/scene.hpp"
#include "hostlaunch/hostlaunch.hpp"

namespace hostlaunch::contract {

// What became of a callable. Kept by the fixture until all is released.
struct fate {
    std::atomic<int> ran{0};
    std::atomic<int> destroyed{0};
    std::atomic<std::thread::id> ran_on{};
    std::atomic<std::thread::id> destroyed_on{};
    std::atomic<result> answer_at_the_end{-1};  // to a call that the driver forbids its threads
};

class watched {
  public:
    explicit watched(fate& f) : fate_(&f) {}
    watched(watched&& other) noexcept : fate_(std::exchange(other.fate_, nullptr)) {}
    watched& operator=(watched&&) = delete;
    ~watched() {
        if (fate_ == nullptr) return;
        context current = nullptr;
        fate_->answer_at_the_end = api().ctx_get_current(&current);
        fate_->destroyed_on = std::this_thread::get_id();
        ++fate_->destroyed;
    }
    void operator()() const {
        fate_->ran_on = std::this_thread::get_id();
        ++fate_->ran;
    }

  private:
    fate* fate_;
};

template <class Call>
int code_of(Call&& call) {
    try {
        call();
    } catch (const hostlaunch::error& e) {
        return e.code();
    }
    return 0;
}

class library_graphs : public driver_test {
  protected:
    void SetUp() override {
        driver_test::SetUp();
        s_.emplace();
        s2_.emplace();
        before_ = hostlaunch::stats();
    }
    void TearDown() override {
        s_.reset();
        s2_.reset();
        driver_test::TearDown();
        EXPECT_TRUE(eventually([] {
            const launch_stats s = hostlaunch::stats();
            return s.graph_callbacks == 0 && s.awaiting_release == 0;
        }));
    }

    abi::stream raw() const { return reinterpret_cast<abi::stream>(s_->handle()); }
    capture_status status_of(abi::stream s) {
        capture_status status{};
        EXPECT_EQ(api().stream_is_capturing(s, &status), success);
        return status;
    }
    void expect_usable(hostlaunch::stream& s) {
        std::atomic<int>& ran = make_counter();
        host_launch(s, [&ran] { ++ran; });
        s.sync();
        EXPECT_EQ(ran, 1);
    }

    template <class Add>
    graph_builder built(Add&& add) {
        graph_builder b(*s_);
        b.begin_building();
        add(b);
        b.end_building();
        return b;
    }
    void launch_and_wait(hostlaunch::graph& g, int times = 1) {
        for (int i = 0; i < times; ++i)
            g.launch(*s_);
        s_->sync();
    }
    fate& make_fate() { return keep<fate>(); }
    static bool is_gone(const fate& f) {
        return eventually([&f] { return f.destroyed > 0; }) && f.destroyed == 1;
    }
    std::uint64_t more(std::uint64_t launch_stats::* counter) const {
        return hostlaunch::stats().*counter - before_.*counter;
    }

    std::optional<hostlaunch::stream> s_;
    std::optional<hostlaunch::stream> s2_;

  private:
    launch_stats before_;
};

}  // namespace hostlaunch::contract
