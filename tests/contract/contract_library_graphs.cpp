// SPDX-License-Identifier: Apache-2.0
// Host functions in graphs through the C++ library: replay, lifetime, updates.
#include "contract/library_graphs.hpp"

namespace hostlaunch::contract {
namespace {

// contract: B3
TEST_F(library_graphs, functions_run_once_for_each_launch_in_their_order) {
    journal& book = keep<journal>();
    std::vector<int> expected;
    graph_builder b = built([&book](graph_builder& to) {
        for (int i = 0; i < 20; ++i)
            to.callback([&book, i] { journal::enter(book.line_of(i)); });
    });
    hostlaunch::graph g = b.complete();
    b.close();
    g.upload(*s_);
    launch_and_wait(g, 50);
    for (int i = 0; i < 1000; ++i)
        expected.push_back(i % 20);
    EXPECT_EQ(book.written(), expected);
    EXPECT_EQ(more(&launch_stats::graph_ran), 1000u);
    EXPECT_EQ(more(&launch_stats::accepted), 0u);
}

// contract: B3, O1
TEST_F(library_graphs, functions_run_between_the_copies_and_fills_around_them) {
    buffer device(4096);
    buffer host(4096, buffer_kind::pinned);
    std::vector<int>& seen = keep<std::vector<int>>();
    const auto look = [&seen, all = host.bytes()] {
        const bool whole = all.front() == all.back();
        seen.push_back(whole ? std::to_integer<int>(all.front()) : -1);
    };
    std::vector<int> expected;
    graph_builder b = built([&](graph_builder& to) {
        for (int i = 1; i <= 3; ++i) {
            device.fill(static_cast<std::byte>(i), *s_);
            device.copy_to(host, *s_);
            to.callback(look);
        }
    });
    hostlaunch::graph g = b.complete();
    launch_and_wait(g, 100);
    for (int i = 0; i < 300; ++i)
        expected.push_back(i % 3 + 1);
    EXPECT_EQ(seen, expected);
}

// contract: B3
TEST_F(library_graphs, launches_of_one_graph_never_overlap_whichever_streams_they_are_on) {
    std::atomic<int>& inside = make_counter();
    std::atomic<int>& overlaps = make_counter();
    std::atomic<int>& ran = make_counter();
    graph_builder b = built([&](graph_builder& to) {
        to.callback([&] {
            overlaps += inside.fetch_add(1);
            ++ran;
            --inside;
        });
    });
    hostlaunch::graph g = b.complete();
    for (int i = 0; i < 100; ++i) {
        g.launch(*s_);
        g.launch(*s2_);
    }
    s_->sync();
    s2_->sync();
    EXPECT_EQ(overlaps, 0);
    EXPECT_EQ(ran, 200);
}

// contract: B2, C2
TEST_F(library_graphs, a_launch_in_flight_keeps_the_function_after_everything_is_closed) {
    fate& f = make_fate();
    graph_builder b = built([&f](graph_builder& to) { to.callback(watched(f)); });
    hostlaunch::graph g = b.complete();
    blocker& first = hold(raw());
    for (int i = 0; i < 3; ++i)
        g.launch(*s_);
    b.close();
    g.close();
    std::this_thread::sleep_for(a_while);
    EXPECT_EQ(f.destroyed, 0);
    first.let_go();
    s_->sync();
    EXPECT_EQ(f.ran, 3);
    EXPECT_TRUE(is_gone(f));
    EXPECT_NE(f.destroyed_on.load(), f.ran_on.load());
    EXPECT_EQ(f.answer_at_the_end, success);
}

// contract: B6
TEST_F(library_graphs, an_update_of_one_function_is_for_future_launches_of_this_graph) {
    fate& old = make_fate();
    fate& fresh = make_fate();
    fate& newest = make_fate();
    hostlaunch::graph_node node;
    graph_builder b = built([&](graph_builder& to) { node = to.callback(watched(old)); });
    hostlaunch::graph g = b.complete();
    hostlaunch::graph other = b.complete();
    blocker& first = hold(raw());
    g.launch(*s_);
    g.update_callback(node, watched(fresh));
    g.launch(*s_);
    g.update_callback(node, watched(newest));
    g.launch(*s_);
    other.launch(*s_);
    b.close();
    other.close();
    std::this_thread::sleep_for(a_while);
    EXPECT_EQ(old.destroyed + fresh.destroyed + newest.destroyed, 0);
    first.let_go();
    s_->sync();
    EXPECT_EQ(old.ran, 2);
    EXPECT_EQ(fresh.ran, 1);
    EXPECT_EQ(newest.ran, 1);
    EXPECT_TRUE(is_gone(old));
    EXPECT_TRUE(is_gone(fresh));
    EXPECT_EQ(newest.destroyed, 0);
    g.close();
    EXPECT_TRUE(is_gone(newest));
}

// contract: B6
TEST_F(library_graphs, an_update_takes_over_another_builder_or_changes_nothing) {
    fate& old = make_fate();
    fate& fresh = make_fate();
    graph_builder b = built([&](graph_builder& to) { to.callback(watched(old)); });
    hostlaunch::graph g = b.complete();
    graph_builder longer = built([&](graph_builder& to) {
        to.callback([] {});
        to.callback([] {});
    });
    EXPECT_EQ(code_of([&] { g.update(longer); }), error_graph_exec_update_failure);
    b.close();
    launch_and_wait(g);
    EXPECT_EQ(old.ran, 1);
    EXPECT_EQ(old.destroyed, 0);
    graph_builder same = built([&](graph_builder& to) { to.callback(watched(fresh)); });
    g.update(same);
    EXPECT_TRUE(is_gone(old));
    same.close();
    launch_and_wait(g);
    EXPECT_EQ(fresh.ran, 1);
    EXPECT_EQ(old.ran, 1);
}

// contract: B2
TEST_F(library_graphs, a_thousand_graphs_leave_nothing_behind) {
    std::atomic<int>& ran = make_counter();
    fate& f = make_fate();
    for (int i = 0; i < 1000; ++i) {
        graph_builder b =
            built([&](graph_builder& to) { to.callback([&ran, w = watched(f)] { ++ran; }); });
        hostlaunch::graph g = b.complete();
        g.launch(*s_);
    }
    s_->sync();
    EXPECT_EQ(ran, 1000);
    EXPECT_TRUE(eventually([&f] { return f.destroyed == 1000; }));
}

}  // namespace
}  // namespace hostlaunch::contract
