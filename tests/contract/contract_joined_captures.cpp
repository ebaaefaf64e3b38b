// SPDX-License-Identifier: Apache-2.0
// Captures that fork to other streams, and what they tell of their dependencies.
#include <cstring>

#include "contract/scene.hpp"

namespace hostlaunch::contract {
namespace {

class joined_captures : public driver_test {
  protected:
    // A branch that has recorded one function. It is the case's to destroy.
    stream fork_from(stream origin) {
        const stream branch = make_stream();
        const event forked = make_event();
        EXPECT_EQ(api().event_record(forked, origin), success);
        EXPECT_EQ(api().stream_wait_event(branch, forked, 0), success);
        EXPECT_EQ(launch(branch, ran_), success);
        return branch;
    }
    void join(stream branch, stream origin) {
        const event joined = make_event();
        EXPECT_EQ(api().event_record(joined, branch), success);
        EXPECT_EQ(api().stream_wait_event(origin, joined, 0), success);
    }
    void destroy(stream s) {
        disown(s);
        EXPECT_EQ(api().stream_destroy(s), success);
    }

    std::atomic<int>& ran_ = make_counter();
};

// contract: N2
TEST_F(joined_captures, a_joined_stream_may_be_destroyed_before_the_end) {
    const stream origin = make_stream();
    ASSERT_EQ(api().stream_begin_capture(origin, capture_mode::relaxed), success);
    const stream branch = fork_from(origin);
    join(branch, origin);
    destroy(branch);
    EXPECT_EQ(launch(origin, ran_), success);
    graph g = nullptr;
    ASSERT_EQ(api().stream_end_capture(origin, &g), success);
    std::size_t nodes = 0;
    EXPECT_EQ(api().graph_get_nodes(g, nullptr, &nodes), success);
    EXPECT_EQ(nodes, 2u);
    EXPECT_EQ(api().graph_destroy(g), success);
}

// contract: N2
TEST_F(joined_captures, a_stream_destroyed_before_it_was_joined_leaves_nothing_to_end_with) {
    const stream origin = make_stream();
    ASSERT_EQ(api().stream_begin_capture(origin, capture_mode::relaxed), success);
    destroy(fork_from(origin));
    graph g = nullptr;
    EXPECT_NE(api().stream_end_capture(origin, &g), success);
    EXPECT_EQ(g, nullptr);
}

// contract: N2
TEST_F(joined_captures, each_dependency_is_told_with_the_data_of_its_edge) {
    if (api().stream_get_capture_info_edges == nullptr) GTEST_SKIP() << "a driver before 12.3";
    const stream origin = make_stream();
    ASSERT_EQ(api().stream_begin_capture(origin, capture_mode::relaxed), success);
    join(fork_from(origin), origin);
    join(fork_from(origin), origin);
    capture_status status{};
    const graph_node* nodes = nullptr;
    const void* edges = nullptr;
    std::size_t count = 0;
    EXPECT_EQ(api().stream_get_capture_info_edges(origin, &status, nullptr, nullptr, &nodes, &edges,
                                                  &count),
              success);
    EXPECT_EQ(status, capture_status::active);
    EXPECT_EQ(count, 2u);
    ASSERT_NE(nodes, nullptr);
    ASSERT_NE(edges, nullptr);
    constexpr unsigned char plain[2 * 8] = {};  // CUgraphEdgeData has 8 bytes
    EXPECT_EQ(std::memcmp(edges, plain, sizeof plain), 0);
    graph g = nullptr;
    ASSERT_EQ(api().stream_end_capture(origin, &g), success);
    EXPECT_EQ(api().graph_destroy(g), success);
}

}  // namespace
}  // namespace hostlaunch::contract
