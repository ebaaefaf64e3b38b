// SPDX-License-Identifier: Apache-2.0
// Graphs in the core: what its public surface cannot reach.
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "core/driver_fixture.hpp"
#include "core/graphs/graph.hpp"

namespace hostlaunch::core {
namespace {

using test::eventually;
using test::make_record;

void count_end(void* payload) noexcept {
    ++**reinterpret_cast<std::atomic<int>**>(payload);
}

std::atomic<int> runs{0};
outcome count_run(void*) {
    ++runs;
    return outcome::ran;
}
constexpr task_type counting{&count_run, &count_end};
class core_graphs : public test::core_on_embedded {
  protected:
    void SetUp() override {
        test::core_on_embedded::SetUp();
        runs = 0;
        stream_ = std::make_shared<stream>(make_stream());
    }

    // A graph with one function that counts its runs, and its end in destroyed_.
    std::unique_ptr<executable_graph> build() {
        std::unique_ptr<graph_builder> b;
        std::unique_ptr<executable_graph> made;
        graph_node_token node;
        EXPECT_TRUE(graph_builder::create(stream_, b).ok());
        EXPECT_TRUE(b->begin(abi::capture_mode::relaxed).ok());
        record& r = make_record(counting, &destroyed_);
        EXPECT_TRUE(b->add(r, host_call{}, &node).status.ok());
        EXPECT_TRUE(b->end().ok());
        EXPECT_TRUE(b->complete(made).ok());
        return made;
    }

    std::shared_ptr<stream> stream_;
    std::atomic<int> destroyed_{0};
};

// contract: B2
TEST_F(core_graphs, ten_thousand_graphs_need_no_more_records_than_a_hundred) {
    constexpr int rounds = 10'000;
    std::uint32_t size_early = 0;
    for (int i = 1; i <= rounds; ++i) {
        const std::unique_ptr<executable_graph> g = build();
        ASSERT_TRUE(g->launch(stream_->target()).ok());
        if (i % 100 != 0) continue;
        ASSERT_EQ(embedded::cuStreamSynchronize(stream_->raw()), 0);
        ASSERT_TRUE(eventually([&] { return destroyed_ >= i - 1; }));
        if (size_early == 0) size_early = record_pool::instance().size();
    }
    EXPECT_TRUE(eventually([&] { return destroyed_ == rounds; }));
    EXPECT_EQ(runs, rounds);
    EXPECT_EQ(record_pool::instance().size(), size_early);
}

// contract: O4
TEST_F(core_graphs, a_launch_on_the_default_stream_of_a_named_device_needs_no_current_context) {
    const std::unique_ptr<executable_graph> g = build();
    std::thread([&] {
        const stream_target target{abi::stream_legacy, nullptr, 0};
        abi::context current = nullptr;
        EXPECT_TRUE(g->upload(target).ok());
        EXPECT_TRUE(g->launch(target).ok());
        EXPECT_EQ(embedded::cuCtxGetCurrent(&current), 0);
        EXPECT_EQ(current, nullptr);
        EXPECT_EQ(g->launch({abi::stream_legacy, nullptr, -1}).code,
                  static_cast<int>(misuse::no_context));
    }).join();
    ASSERT_EQ(embedded::cuCtxSynchronize(), 0);
    EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace hostlaunch::core
