// SPDX-License-Identifier: Apache-2.0
// Graphs through the C++ library on any driver: what its tests share.
#pragma once

#include <algorithm>
#include <deque>

#include "contract/library_case.hpp"

namespace hostlaunch::test {

// A stream s_, and s2_ beside it. At the end no graph holds a function any more.
template <class Driver>
class with_graphs : public with_a_stream<Driver> {
  protected:
    using with_a_stream<Driver>::s_;

    void SetUp() override {
        with_a_stream<Driver>::SetUp();
        graphs_before_ = stats();
        s2_.emplace();
    }
    void TearDown() override {
        s2_.reset();
        EXPECT_TRUE(eventually([] { return stats().graph_callbacks == 0; }));
        with_a_stream<Driver>::TearDown();
        fates_.clear();
    }

    // Outlives all callables.
    fate& make_fate() { return fates_.emplace_back(); }

    std::uint64_t graph_ran() const { return stats().graph_ran - graphs_before_.graph_ran; }
    std::uint64_t graph_raised() const {
        return stats().graph_raised - graphs_before_.graph_raised;
    }
    std::uint64_t held() const { return stats().graph_callbacks; }

    // A builder that has built what `add(builder)` captured on s_.
    template <class Add>
    graph_builder built(Add&& add) {
        graph_builder b(*s_);
        b.begin_building();
        add(b);
        b.end_building();
        return b;
    }

    void launch_and_wait(graph& g, int times = 1) {
        for (int i = 0; i < times; ++i)
            g.launch(*s_);
        s_->sync();
    }

    std::optional<stream> s2_;

  private:
    std::deque<fate> fates_;
    launch_stats graphs_before_;
};

// Time enough for the driver and the library to let go of what they need not keep.
inline void let_everything_go() {
    wait_idle();
    EXPECT_TRUE(eventually(nothing_outstanding));
}

// True as soon as the callable is destroyed; it must not have been destroyed twice.
inline bool is_gone(const fate& f) {
    return eventually([&f] { return f.destroyed >= 1; }) && f.destroyed == 1;
}

// The callable is there still, although everything that can be released is.
inline void expect_kept(const fate& f) {
    EXPECT_TRUE(eventually([] { return stats().awaiting_release == 0; }));
    EXPECT_EQ(f.destroyed, 0);
}

// The state of a stream's capture.
inline abi::capture_status capture_of(stream_ref s) {
    auto status = abi::capture_status::none;
    EXPECT_EQ(contract::api().stream_is_capturing(raw(s), &status), 0);
    return status;
}

// Raw calls, as other libraries make them.
inline void begin_raw(stream_ref s, abi::capture_mode mode = abi::capture_mode::relaxed) {
    ASSERT_EQ(contract::api().stream_begin_capture(raw(s), mode), 0);
}
inline abi::graph end_raw(stream_ref s) {
    abi::graph made = nullptr;
    EXPECT_EQ(contract::api().stream_end_capture(raw(s), &made), 0);
    return made;
}
inline std::size_t node_count(abi::graph g) {
    std::size_t count = 0;
    EXPECT_EQ(contract::api().graph_get_nodes(g, nullptr, &count), 0);
    return count;
}
// In the stream's context: the driver asks for a current one.
inline abi::graph_exec instantiate_raw(abi::graph g, stream_ref s) {
    abi::context before = nullptr;
    abi::context ctx = nullptr;
    abi::graph_exec exec = nullptr;
    EXPECT_EQ(contract::api().ctx_get_current(&before), 0);
    EXPECT_EQ(contract::api().stream_get_ctx(raw(s), &ctx), 0);
    EXPECT_EQ(contract::api().ctx_set_current(ctx), 0);
    EXPECT_EQ(contract::api().graph_instantiate(&exec, g, 0), 0);
    EXPECT_EQ(contract::api().ctx_set_current(before), 0);
    return exec;
}

// Makes a capture of the stream invalid, as a careless call of anybody does.
inline void invalidate(stream_ref s) {
    EXPECT_NE(contract::api().stream_synchronize(raw(s)), 0);
    EXPECT_EQ(capture_of(s), abi::capture_status::invalidated);
}

}  // namespace hostlaunch::test
