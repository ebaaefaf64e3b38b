// SPDX-License-Identifier: Apache-2.0
// Updates of graphs with launches in flight, one step of the driver at a time.
#include <gtest/gtest.h>

#include <array>

#include "surface/graph_fixture.hpp"

namespace hostlaunch::test {
namespace {

class graph_updates : public on_graphs {
  protected:
    // A builder of a graph with one function; its node is node_.
    graph_builder built_with(fate& f) {
        return built([&](graph_builder& to) { node_ = to.callback(watched(f)); });
    }
    graph_node node_;
};

// contract: B6
TEST_F(graph_updates, launches_in_flight_run_the_function_that_they_were_launched_with) {
    for (const bool builder_is_open : {true, false}) {
        fate& old = make_fate();
        fate& fresh = make_fate();
        graph_builder b = built_with(old);
        graph g = b.complete();
        if (!builder_is_open) b.close();
        hostlaunch_embedded_set_manual(1);
        g.launch(*s_);
        g.launch(*s_);
        g.update_callback(node_, watched(fresh));
        b.close();
        g.launch(*s_);
        expect_kept(old);
        EXPECT_EQ(hostlaunch_embedded_step(2, patience_ms), 2);
        EXPECT_EQ(old.ran, 2);
        EXPECT_EQ(fresh.ran, 0);
        EXPECT_TRUE(is_gone(old));
        EXPECT_EQ(hostlaunch_embedded_step(1, patience_ms), 1);
        EXPECT_EQ(fresh.ran, 1);
        expect_kept(fresh);
        hostlaunch_embedded_set_manual(0);
        g.close();
        EXPECT_TRUE(is_gone(fresh));
        EXPECT_EQ(old.ran, 2);
    }
}

// contract: B1, B2, B6
TEST_F(graph_updates, an_update_takes_over_all_functions_of_another_builder) {
    fate& old = make_fate();
    fate& fresh = make_fate();
    fate& replaced = make_fate();
    graph_builder b = built_with(old);
    const graph_node former_node = node_;
    graph g = b.complete();
    b.close();
    hostlaunch_embedded_set_manual(1);
    g.launch(*s_);
    graph_builder b2 = built_with(fresh);
    g.update(b2);
    g.launch(*s_);
    expect_kept(old);
    EXPECT_EQ(hostlaunch_embedded_step(1, patience_ms), 1);
    EXPECT_EQ(old.ran, 1);
    EXPECT_TRUE(is_gone(old));
    EXPECT_EQ(hostlaunch_embedded_step(1, patience_ms), 1);
    EXPECT_EQ(fresh.ran, 1);
    hostlaunch_embedded_set_manual(0);
    s_->sync();
    // Its nodes are those of the other builder now, whose graph later updates leave alone.
    expect_misuse(misuse::foreign_node, [&] { g.update_callback(former_node, [] {}); });
    g.update_callback(node_, watched(replaced));
    launch_and_wait(g);
    EXPECT_EQ(replaced.ran, 1);
    graph of_b2 = b2.complete();
    launch_and_wait(of_b2);
    EXPECT_EQ(fresh.ran, 2);
}

}  // namespace
}  // namespace hostlaunch::test
