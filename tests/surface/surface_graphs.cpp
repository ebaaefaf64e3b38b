// SPDX-License-Identifier: Apache-2.0
// Launches of graphs in flight, one step of the driver at a time.
#include <gtest/gtest.h>

#include <array>

#include "surface/graph_fixture.hpp"

namespace hostlaunch::test {
namespace {

using graphs = on_graphs;

// contract: B2
TEST_F(graphs, launches_in_flight_keep_their_functions_whatever_is_closed_in_which_order) {
    enum part { the_builder, the_graph, the_other_graph };
    std::array<part, 3> order{the_builder, the_graph, the_other_graph};
    hostlaunch_embedded_set_manual(1);
    do {
        fate& f = make_fate();
        graph_builder b = built([&f](graph_builder& to) { to.callback(watched(f)); });
        graph g = b.complete();
        graph other = b.complete();
        for (int i = 0; i < 2; ++i)
            g.launch(*s_);
        other.launch(*s_);
        for (const part p : order) {
            if (p == the_builder) b.close();
            if (p == the_graph) g.close();
            if (p == the_other_graph) other.close();
        }
        for (int ran = 0; ran < 3; ++ran) {
            EXPECT_EQ(f.ran, ran);
            expect_kept(f);
            EXPECT_EQ(hostlaunch_embedded_step(1, patience_ms), 1);
        }
        EXPECT_EQ(f.ran, 3);
        ASSERT_TRUE(is_gone(f));
        EXPECT_NE(f.destroyed_on, f.ran_on);
        EXPECT_EQ(hostlaunch_embedded_live("graph_execs"), 0);
    } while (std::next_permutation(order.begin(), order.end()));
}

}  // namespace
}  // namespace hostlaunch::test
