// SPDX-License-Identifier: Apache-2.0
// Updates of graphs through the C++ library: what takes the new functions, and what is refused.
#include <gtest/gtest.h>

#include <array>

#include "contract/library_graph_case.hpp"

namespace hostlaunch::test {
namespace {

class library_graph_updates : public with_graphs<on_any_driver> {
  protected:
    // A builder of a graph with one function; its node is node_.
    graph_builder built_with(fate& f) {
        return built([&](graph_builder& to) { node_ = to.callback(watched(f)); });
    }
    graph_node node_;
};

// contract: B6
TEST_F(library_graph_updates,
       an_update_of_one_function_leaves_the_other_graph_of_the_builder_alone) {
    fate& old = make_fate();
    fate& fresh = make_fate();
    graph_builder b = built_with(old);
    graph g = b.complete();
    graph other = b.complete();
    g.update_callback(node_, watched(fresh));
    launch_and_wait(g, 2);
    EXPECT_EQ(old.ran, 0);
    EXPECT_EQ(fresh.ran, 2);
    launch_and_wait(other, 3);
    graph later = b.complete();  // of what was built, not of the update
    launch_and_wait(later, 4);
    EXPECT_EQ(old.ran, 7);
    EXPECT_EQ(fresh.ran, 2);
    g.close();
    EXPECT_TRUE(is_gone(fresh));
    expect_kept(old);
    b.close();
    other.close();
    expect_kept(old);
    later.close();
    EXPECT_TRUE(is_gone(old));
}

// contract: B2, B6
TEST_F(library_graph_updates, a_replaced_function_is_destroyed_as_soon_as_nothing_can_run_it) {
    const std::array fates{&make_fate(), &make_fate(), &make_fate(), &make_fate()};
    graph_builder b = built_with(*fates[0]);
    graph g = b.complete();
    b.close();
    for (std::size_t i = 1; i < 4; ++i) {
        g.update_callback(node_, watched(*fates[i]));
        EXPECT_TRUE(is_gone(*fates[i - 1]));
        launch_and_wait(g);
    }
    EXPECT_EQ(fates[0]->ran, 0);
    for (std::size_t i = 1; i < 4; ++i)
        EXPECT_EQ(fates[i]->ran, 1);
    expect_kept(*fates[3]);
}

// contract: B6
TEST_F(library_graph_updates, each_node_is_updated_alone) {
    std::vector<int> seen;
    std::vector<graph_node> nodes;
    graph_builder b = built([&](graph_builder& to) {
        for (int i = 0; i < 4; ++i)
            nodes.push_back(to.callback([&seen, i] { seen.push_back(i); }));
    });
    graph g = b.complete();
    g.update_callback(nodes[2], [&seen] { seen.push_back(20); });
    g.update_callback(nodes[0], [&seen] { seen.push_back(10); });
    g.update_callback(nodes[2], [&seen] { seen.push_back(30); });
    launch_and_wait(g);
    EXPECT_EQ(seen, (std::vector<int>{10, 1, 30, 3}));
}

// contract: B1, B6
TEST_F(library_graph_updates, a_node_of_another_builder_is_refused_and_changes_nothing) {
    fate& old = make_fate();
    fate& refused = make_fate();
    graph_node foreign;
    graph_builder other = built([&foreign](graph_builder& to) { foreign = to.callback([] {}); });
    graph_builder b = built_with(old);
    graph g = b.complete();
    for (const graph_node node : {foreign, graph_node{}, graph_node{node_.source, 1}}) {
        expect_misuse(misuse::foreign_node, [&] { g.update_callback(node, watched(refused)); });
    }
    EXPECT_EQ(refused.destroyed, 3);
    launch_and_wait(g);
    EXPECT_EQ(old.ran, 1);
    EXPECT_EQ(refused.ran, 0);
}

// contract: B6
TEST_F(library_graph_updates, an_update_with_another_topology_is_refused_and_changes_nothing) {
    fate& old = make_fate();
    fate& unused = make_fate();
    fate& fresh = make_fate();
    graph_builder b = built_with(old);
    const graph_node node = node_;
    graph g = b.complete();
    graph_builder longer = built([&](graph_builder& to) {
        to.callback(watched(unused));
        to.callback([] {});
    });
    EXPECT_EQ(code_thrown_by([&] { g.update(longer); }), abi::error_graph_exec_update_failure);
    graph_builder idle(*s_);
    expect_misuse(misuse::not_built, [&] { g.update(idle); });
    b.close();
    launch_and_wait(g);
    EXPECT_EQ(old.ran, 1);
    expect_kept(old);
    longer.close();
    EXPECT_TRUE(is_gone(unused));
    g.update_callback(node, watched(fresh));
    EXPECT_TRUE(is_gone(old));
    launch_and_wait(g);
    EXPECT_EQ(fresh.ran, 1);
    EXPECT_EQ(unused.ran, 0);
}

// contract: B6
TEST_F(library_graph_updates, an_update_from_the_own_builder_undoes_updates_of_functions) {
    fate& old = make_fate();
    fate& fresh = make_fate();
    graph_builder b = built_with(old);
    graph g = b.complete();
    g.update_callback(node_, watched(fresh));
    g.update(b);
    EXPECT_TRUE(is_gone(fresh));
    launch_and_wait(g);
    EXPECT_EQ(old.ran, 1);
    EXPECT_EQ(fresh.ran, 0);
}

// What lies around the functions is copied with them, forks included.
// contract: B6
TEST_F(library_graph_updates, the_other_work_of_the_graph_stays_as_it_was) {
    buffer device(64, buffer_kind::device, 0);
    buffer host(64, buffer_kind::pinned, 0);
    std::vector<int> seen;
    const auto look = [&] { seen.push_back(std::to_integer<int>(host.bytes().front())); };
    graph_node node;
    graph_builder b = built([&](graph_builder& to) {
        device.fill(std::byte{1}, *s_);
        s2_->wait(*s_);
        device.copy_to(host, *s2_);
        s_->wait(*s2_);
        to.callback(look);
        device.fill(std::byte{2}, *s_);
        device.copy_to(host, *s_);
        node = to.callback([&seen] { seen.push_back(-1); });
    });
    graph g = b.complete();
    g.update_callback(node, look);
    b.close();
    launch_and_wait(g, 2);
    EXPECT_EQ(seen, (std::vector<int>{1, 2, 1, 2}));
}

}  // namespace
}  // namespace hostlaunch::test
