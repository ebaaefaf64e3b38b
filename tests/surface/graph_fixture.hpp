// SPDX-License-Identifier: Apache-2.0
// What the tests of graphs share.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "surface/fixture.hpp"

namespace hostlaunch::test {

// A stream s_, and s2_ beside it. At the end no graph holds a function any more.
class on_graphs : public on_a_stream {
  protected:
    void SetUp() override {
        on_a_stream::SetUp();
        graphs_before_ = stats();
        s2_.emplace();
    }
    void TearDown() override {
        hostlaunch_embedded_reset();
        s2_.reset();
        EXPECT_TRUE(eventually([] { return stats().graph_callbacks == 0; }));
        on_a_stream::TearDown();
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
    EXPECT_EQ(hostlaunch_embedded_wait_idle(patience_ms), 0);
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
    EXPECT_EQ(embedded::cuStreamIsCapturing(raw(s), &status), 0);
    return status;
}

// Raw calls, as other libraries make them.
inline void begin_raw(stream_ref s, abi::capture_mode mode = abi::capture_mode::relaxed) {
    ASSERT_EQ(embedded::cuStreamBeginCapture_v2(raw(s), mode), 0);
}
inline abi::graph end_raw(stream_ref s) {
    abi::graph made = nullptr;
    EXPECT_EQ(embedded::cuStreamEndCapture(raw(s), &made), 0);
    return made;
}
inline std::size_t node_count(abi::graph g) {
    std::size_t count = 0;
    EXPECT_EQ(embedded::cuGraphGetNodes(g, nullptr, &count), 0);
    return count;
}
// In the stream's context: the driver asks for a current one.
inline abi::graph_exec instantiate_raw(abi::graph g, stream_ref s) {
    abi::context ctx = nullptr;
    abi::graph_exec exec = nullptr;
    EXPECT_EQ(embedded::cuStreamGetCtx(raw(s), &ctx), 0);
    EXPECT_EQ(embedded::cuCtxPushCurrent_v2(ctx), 0);
    EXPECT_EQ(embedded::cuGraphInstantiateWithFlags(&exec, g, 0), 0);
    EXPECT_EQ(embedded::cuCtxPopCurrent_v2(&ctx), 0);
    return exec;
}

// Makes a capture of the stream invalid, as a careless call of anybody does.
inline void invalidate(stream_ref s) {
    EXPECT_NE(embedded::cuStreamSynchronize(raw(s)), 0);
    EXPECT_EQ(capture_of(s), abi::capture_status::invalidated);
}

}  // namespace hostlaunch::test
