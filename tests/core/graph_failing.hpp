// SPDX-License-Identifier: Apache-2.0
// Lets each driver call of an operation on builders and graphs fail in turn.
#pragma once

#include <memory>
#include <string>

#include "core/failing.hpp"
#include "core/graphs/graph.hpp"

namespace hostlaunch::core {

// What a host function of a test counts: its runs and its ends.
struct counts {
    std::atomic<int> ran{0};
    std::atomic<int> destroyed{0};
};

inline void count_end(void* payload) noexcept {
    ++(*static_cast<counts**>(static_cast<void*>(payload)))->destroyed;
}
inline outcome count_run_in_graph(void* payload) {
    ++(*static_cast<counts**>(payload))->ran;
    return outcome::ran;
}
inline constexpr task_type counting{&count_run_in_graph, &count_end};

inline int records_in_use() {
    int used = 0;
    record_pool& pool = record_pool::instance();
    for (std::uint32_t i = 0; i < pool.size(); ++i)
        used += record::state_of(pool.at(i).word) == state::free ? 0 : 1;
    return used;
}

class graph_failing : public failing {
  protected:
    // One attempt in which a call fails. `prepare` comes before it, `check` after it, told whether
    // the attempt succeeded: it must find all as if there had been no failed attempt, try again and
    // let everything go.
    struct trial {
        std::function<void()> prepare;
        std::function<status()> attempt;
        std::function<void(bool)> check;
    };

    void SetUp() override {
        failing::SetUp();
        callbacks_before_ = read_stats().graph_callbacks;
        stream_ = std::make_shared<stream>(make_stream());
    }
    void TearDown() override {
        stream_.reset();
        failing::TearDown();
    }

    void fail_each(const trial& t, const calls& tolerated) {
        test::fail_each(observe_attempt(t), tolerated,
                        [&](const std::string& entry, int nth, bool survives) {
                            run(t, entry, nth, survives);
                        });
    }

    calls observe_attempt(const trial& t) {
        reset_counts();
        t.prepare();
        const calls made = test::driver_calls([&] { EXPECT_TRUE(t.attempt().ok()); });
        t.check(true);
        expect_nothing_left();
        return made;
    }

    void run(const trial& t, const std::string& entry, int nth, bool survives) {
        const live_objects before;
        const int used_before = records_in_use();
        reset_counts();
        t.prepare();
        ASSERT_EQ(hostlaunch_embedded_fail_call(entry.c_str(), nth, injected), 0);
        const status s = t.attempt();
        hostlaunch_embedded_reset();
        restore_capture_mode();
        EXPECT_EQ(s.ok(), survives);
        if (!s.ok()) {
            EXPECT_EQ(s.code, injected);
            EXPECT_EQ(std::string(s.call == nullptr ? "" : s.call), entry);
        }
        t.check(s.ok());
        expect_nothing_left();
        EXPECT_EQ(live_objects(), before);
        EXPECT_EQ(records_in_use(), used_before);
    }

    void reset_counts() {
        for (counts* c : {&old_, &fresh_})
            c->ran = c->destroyed = 0;
        made_ = 0;
    }

    void expect_nothing_left() {
        builder_.reset();
        other_.reset();
        graph_.reset();
        settle();
        EXPECT_EQ(old_.destroyed + fresh_.destroyed, made_);
        EXPECT_EQ(read_stats().graph_callbacks, callbacks_before_);
    }

    // As the surface does it: a failure leaves nothing of the function.
    template <class Add>
    status give(counts& c, Add&& add) {
        record& r = make_record(counting, &c);
        ++made_;
        const added a = add(r, host_call{});
        discard(r, a);
        return a.status;
    }
    status add(graph_builder& b, counts& c) {
        return give(c, [&](record& r, const host_call& call) { return b.add(r, call, &node_); });
    }
    status replace(counts& c) {
        return give(c, [&](record& r, const host_call& call) {
            return graph_->update_callback(node_, r, call);
        });
    }

    void begin(std::unique_ptr<graph_builder>& b) {
        ASSERT_TRUE(graph_builder::create(stream_, b).ok());
        ASSERT_TRUE(b->begin(abi::capture_mode::relaxed).ok());
    }
    void build(std::unique_ptr<graph_builder>& b, counts& c) {
        begin(b);
        ASSERT_TRUE(add(*b, c).ok());
        ASSERT_TRUE(b->end().ok());
    }
    void build_graph(counts& c) {
        build(builder_, c);
        ASSERT_TRUE(builder_->complete(graph_).ok());
    }
    void launch_and_wait() {
        ASSERT_TRUE(graph_->launch(stream_->target()).ok());
        ASSERT_EQ(embedded::cuStreamSynchronize(stream_->raw()), 0);
    }

    // Ends what builder_ captures, and launches it once.
    void end_and_launch() {
        ASSERT_TRUE(builder_->end().ok());
        ASSERT_TRUE(builder_->complete(graph_).ok());
        launch_and_wait();
    }

    abi::capture_status capture_of_stream() {
        auto now = abi::capture_status::none;
        EXPECT_EQ(embedded::cuStreamIsCapturing(stream_->raw(), &now), 0);
        return now;
    }

    std::shared_ptr<stream> stream_;
    std::unique_ptr<graph_builder> builder_;
    std::unique_ptr<graph_builder> other_;
    std::unique_ptr<executable_graph> graph_;
    graph_node_token node_;
    counts old_;
    counts fresh_;
    int made_ = 0;
    std::uint64_t callbacks_before_ = 0;
};

}  // namespace hostlaunch::core
