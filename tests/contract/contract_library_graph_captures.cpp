// SPDX-License-Identifier: Apache-2.0
// The captures behind the C++ library's builders: given up, forked, invalidated, begun by others.
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "contract/library_graph_case.hpp"

namespace hostlaunch::test {
namespace {

using library_graph_captures = with_graphs<on_any_driver>;

// The stream takes work as if it had never captured.
void expect_usable(stream& s) {
    std::atomic<int> ran{0};
    EXPECT_EQ(capture_of(s), abi::capture_status::none);
    host_launch(s, [&ran] { ++ran; });
    s.sync();
    EXPECT_EQ(ran, 1);
}

// contract: B2
TEST_F(library_graph_captures, a_builder_that_ends_while_building_ends_its_capture) {
    const auto end_by = [this](auto end) {
        fate& f = make_fate();
        std::optional<graph_builder> b(std::in_place, *s_);
        b->begin_building();
        b->callback(watched(f));
        b->callback(watched(f));
        EXPECT_TRUE(are_live("graphs", 1));
        end(b);
        EXPECT_TRUE(eventually([&f] { return f.destroyed == 2; }));
        EXPECT_EQ(f.ran, 0);
        EXPECT_TRUE(are_live("graphs", 0));
        expect_usable(*s_);
        graph_builder again(*s_);
        again.begin_building();
    };
    end_by([](std::optional<graph_builder>& b) { b->close(); });
    end_by([](std::optional<graph_builder>& b) { b.reset(); });
    end_by([this](std::optional<graph_builder>& b) { *b = graph_builder(*s2_); });
    end_by([](std::optional<graph_builder>& b) { std::thread([&b] { b.reset(); }).join(); });
}

// contract: B1
TEST_F(library_graph_captures, closing_a_builder_leaves_another_capture_of_its_stream_alone) {
    graph_builder b(*s_);
    b.begin_building();
    EXPECT_EQ(contract::api().graph_destroy(end_raw(*s_)), 0);
    EXPECT_FALSE(b.is_building());
    begin_raw(*s_);
    EXPECT_FALSE(b.is_building());
    fate& f = make_fate();
    expect_misuse(misuse::not_building, [&] { b.callback(watched(f)); });
    expect_misuse(misuse::not_building, [&] { b.end_building(); });
    expect_misuse(misuse::capturing, [&] { b.begin_building(); });
    EXPECT_EQ(f.destroyed, 1);
    b.close();
    EXPECT_EQ(capture_of(*s_), abi::capture_status::active);
    EXPECT_EQ(contract::api().graph_destroy(end_raw(*s_)), 0);
}

// contract: B1
TEST_F(library_graph_captures,
       a_stream_that_is_closed_or_destroyed_while_building_is_kept_for_the_builder) {
    for (const bool destroyed : {false, true}) {
        fate& f = make_fate();
        std::optional<stream> captured(std::in_place);
        const std::int64_t streams = live_of("streams");
        graph_builder b(*captured);
        b.begin_building();
        b.callback(watched(f));
        if (destroyed) {
            captured.reset();
        } else {
            captured->close();
        }
        EXPECT_TRUE(are_live("streams", streams));
        b.callback(watched(f));
        b.end_building();
        graph g = b.complete();
        b.close();
        EXPECT_TRUE(are_live("streams", streams - 1));
        launch_and_wait(g);
        EXPECT_EQ(f.ran, 2);
        g.close();
        EXPECT_TRUE(eventually([&f] { return f.destroyed == 2; }));
    }
}

// contract: B1
TEST_F(library_graph_captures, a_stream_dies_with_the_builder_that_was_still_building_on_it) {
    fate& f = make_fate();
    const std::int64_t streams = live_of("streams");
    {
        std::optional<stream> captured(std::in_place);
        graph_builder b(*captured);
        b.begin_building();
        b.callback(watched(f));
        captured.reset();
    }
    EXPECT_TRUE(is_gone(f));
    EXPECT_TRUE(are_live("streams", streams));
    stream closed;
    closed.close();
    expect_misuse(misuse::closed, [&] { graph_builder b(closed); });
    expect_misuse(misuse::closed, [&] { (void)graph_builder::attach(closed); });
}

// contract: B1, B4
TEST_F(library_graph_captures, a_second_stream_joins_the_capture_and_takes_functions_too) {
    std::vector<int> seen;
    fate& f = make_fate();
    graph_builder b(*s_);
    b.begin_building();
    b.callback([&seen] { seen.push_back(0); });
    s2_->wait(*s_);
    graph_builder b2 = graph_builder::attach(*s2_);
    EXPECT_TRUE(b2.is_building());
    b2.callback([&seen] { seen.push_back(1); });
    b2.callback(watched(f));
    s_->wait(*s2_);
    b.callback([&seen] { seen.push_back(2); });
    b.end_building();
    EXPECT_FALSE(b2.is_building());
    expect_misuse(misuse::not_building, [&] { b2.callback([] {}); });
    b2.close();
    expect_usable(*s2_);
    graph g = b.complete();
    b.close();
    launch_and_wait(g, 2);
    EXPECT_EQ(seen, (std::vector<int>{0, 1, 2, 0, 1, 2}));
    EXPECT_EQ(f.ran, 2);
    expect_kept(f);
    g.close();
    EXPECT_TRUE(is_gone(f));
}

// contract: B1, B5
TEST_F(library_graph_captures, an_unjoined_stream_fails_the_end_and_building_can_begin_again) {
    fate& f = make_fate();
    fate& second = make_fate();
    graph_builder b(*s_);
    b.begin_building();
    b.callback(watched(f));
    s2_->wait(*s_);
    graph_builder b2 = graph_builder::attach(*s2_);
    b2.callback(watched(second));
    EXPECT_EQ(code_thrown_by([&] { b.end_building(); }), abi::error_stream_capture_unjoined);
    EXPECT_TRUE(is_gone(f));
    EXPECT_TRUE(is_gone(second));
    EXPECT_FALSE(b.is_building());
    EXPECT_FALSE(b2.is_building());
    expect_misuse(misuse::not_built, [&] { (void)b.complete(); });
    expect_usable(*s_);
    expect_usable(*s2_);
    fate& again = make_fate();
    b.begin_building();
    b.callback(watched(again));
    b.end_building();
    graph g = b.complete();
    launch_and_wait(g);
    EXPECT_EQ(again.ran, 1);
    EXPECT_EQ(f.ran + second.ran, 0);
}

// contract: B1, B5
TEST_F(library_graph_captures,
       an_invalidated_capture_takes_nothing_fails_the_end_and_can_begin_again) {
    fate& f = make_fate();
    fate& refused = make_fate();
    graph_builder b(*s_);
    b.begin_building(capture_mode::global);
    b.callback(watched(f));
    invalidate(*s_);
    EXPECT_TRUE(b.is_building());
    EXPECT_EQ(code_thrown_by([&] { b.callback(watched(refused)); }),
              abi::error_stream_capture_invalidated);
    EXPECT_EQ(refused.destroyed, 1);
    EXPECT_EQ(code_thrown_by([&] { (void)graph_builder::attach(*s_); }),
              abi::error_stream_capture_invalidated);
    EXPECT_EQ(code_thrown_by([&] { b.end_building(); }), abi::error_stream_capture_invalidated);
    EXPECT_TRUE(is_gone(f));
    expect_usable(*s_);
    b.begin_building();
    b.callback([] {});
    b.end_building();
    graph g = b.complete();
    launch_and_wait(g);
    EXPECT_EQ(f.ran + refused.ran, 0);
}

// contract: B1
TEST_F(library_graph_captures, closing_the_builder_ends_an_invalidated_capture) {
    fate& f = make_fate();
    {
        graph_builder b(*s_);
        b.begin_building();
        b.callback(watched(f));
        invalidate(*s_);
    }
    EXPECT_TRUE(is_gone(f));
    expect_usable(*s_);
}

// contract: B1
TEST_F(library_graph_captures, only_the_thread_that_began_ends_a_capture_that_is_not_relaxed) {
    for (const capture_mode mode :
         {capture_mode::global, capture_mode::thread_local_mode, capture_mode::relaxed}) {
        fate& f = make_fate();
        graph_builder b(*s_);
        b.begin_building(mode);
        std::thread([&] {
            b.callback(watched(f));  // any thread may add
            if (mode == capture_mode::relaxed) {
                b.end_building();
                return;
            }
            EXPECT_EQ(code_thrown_by([&] { b.end_building(); }),
                      abi::error_stream_capture_wrong_thread);
        }).join();
        EXPECT_EQ(b.is_building(), mode != capture_mode::relaxed);
        if (mode != capture_mode::relaxed) b.end_building();
        graph g = b.complete();
        launch_and_wait(g);
        EXPECT_EQ(f.ran, 1);
        b.close();
        g.close();
        EXPECT_TRUE(is_gone(f));
    }
}

// contract: S5
TEST_F(library_graph_captures,
       work_that_does_not_go_through_the_builder_is_refused_and_the_capture_whole) {
    fate& f = make_fate();
    graph other = built([](graph_builder& to) { to.callback([] {}); }).complete();
    for (const capture_mode mode :
         {capture_mode::global, capture_mode::thread_local_mode, capture_mode::relaxed}) {
        std::vector<int> seen;
        graph_builder b(*s_);
        b.begin_building(mode);
        b.callback([&seen] { seen.push_back(0); });
        expect_misuse(misuse::capturing, [&] { host_launch(*s_, watched(f)); });
        expect_misuse(misuse::capturing, [&] { host_launch(s_->handle(), watched(f)); });
        expect_misuse(misuse::capturing, [&] { host_launch(*s_, +[](void*) {}, nullptr); });
        expect_misuse(misuse::capturing, [&] { other.launch(*s_); });
        expect_misuse(misuse::capturing, [&] { other.upload(*s_); });
        EXPECT_EQ(capture_of(*s_), abi::capture_status::active);
        EXPECT_TRUE(b.is_building());
        host_launch(b, [&seen] { seen.push_back(1); });
        b.end_building();
        graph g = b.complete();
        launch_and_wait(g);
        EXPECT_EQ(seen, (std::vector<int>{0, 1}));
    }
    EXPECT_EQ(f.ran, 0);
    EXPECT_EQ(f.destroyed, 6);
    EXPECT_EQ(accepted(), 0u);
}

// contract: B4
TEST_F(library_graph_captures,
       a_capture_of_others_is_adopted_and_its_functions_live_as_long_as_its_graph) {
    for (const bool graph_dies_first : {true, false}) {
        fate& f = make_fate();
        begin_raw(*s_, graph_dies_first ? abi::capture_mode::relaxed : abi::capture_mode::global);
        graph_builder b = graph_builder::attach(s_->handle());
        EXPECT_TRUE(b.is_building());
        b.callback(watched(f));
        host_launch(b, watched(f));
        expect_misuse(misuse::foreign_capture, [&] { b.begin_building(); });
        expect_misuse(misuse::foreign_capture, [&] { b.end_building(); });
        expect_misuse(misuse::foreign_capture, [&] { (void)b.complete(); });
        const abi::graph made = end_raw(*s_);
        EXPECT_EQ(node_count(made), 2u);
        EXPECT_FALSE(b.is_building());
        expect_misuse(misuse::foreign_capture, [&] { (void)b.complete(); });
        b.close();
        const abi::graph_exec exec = instantiate_raw(made, *s_);
        if (graph_dies_first) {
            EXPECT_EQ(contract::api().graph_destroy(made), 0);
        }
        for (int i = 0; i < 100; ++i)
            ASSERT_EQ(contract::api().graph_launch(exec, raw(*s_)), 0);
        s_->sync();
        EXPECT_EQ(f.ran, 200);
        expect_kept(f);
        EXPECT_EQ(contract::api().graph_exec_destroy(exec), 0);
        if (!graph_dies_first) {
            let_everything_go();
            EXPECT_EQ(f.destroyed, 0);
            EXPECT_EQ(contract::api().graph_destroy(made), 0);
        }
        EXPECT_TRUE(eventually([&f] { return f.destroyed == 2; }));
        let_everything_go();
        EXPECT_EQ(f.destroyed, 2);
    }
}

// contract: B4
TEST_F(library_graph_captures, closing_an_attached_builder_leaves_the_capture_to_its_owner) {
    fate& f = make_fate();
    begin_raw(*s_, abi::capture_mode::global);
    {
        graph_builder b = graph_builder::attach(*s_);
        b.callback(watched(f));
    }
    EXPECT_EQ(capture_of(*s_), abi::capture_status::active);
    expect_kept(f);
    graph_builder again = graph_builder::attach(*s_);
    again.callback(watched(f));
    const abi::graph made = end_raw(*s_);
    EXPECT_EQ(node_count(made), 2u);
    EXPECT_EQ(contract::api().graph_destroy(made), 0);
    EXPECT_TRUE(eventually([&f] { return f.destroyed == 2; }));
}

// contract: B4
TEST_F(library_graph_captures, an_attached_builder_refuses_the_next_capture_of_its_stream) {
    fate& f = make_fate();
    expect_misuse(misuse::not_building, [&] { (void)graph_builder::attach(*s_); });
    begin_raw(*s_);
    graph_builder b = graph_builder::attach(*s_);
    EXPECT_EQ(contract::api().graph_destroy(end_raw(*s_)), 0);
    expect_misuse(misuse::not_building, [&] { b.callback(watched(f)); });
    begin_raw(*s_, abi::capture_mode::global);
    expect_misuse(misuse::not_building, [&] { b.callback(watched(f)); });
    EXPECT_FALSE(b.is_building());
    EXPECT_EQ(f.destroyed, 2);
    b.close();
    EXPECT_EQ(capture_of(*s_), abi::capture_status::active);
    const abi::graph made = end_raw(*s_);
    EXPECT_EQ(node_count(made), 0u);
    EXPECT_EQ(contract::api().graph_destroy(made), 0);
}

// Every call of builders and graphs on streams that take no part in a capture of anybody's.
void use_everything(stream& s) {
    graph_node node;
    graph_builder b(s);
    b.begin_building();
    node = b.callback([p = std::make_unique<int>(1)] { (void)*p; });
    EXPECT_TRUE(b.is_building());
    b.end_building();
    graph g = b.complete();
    g.upload(s);
    g.launch(s);
    g.update_callback(node, [] {});
    g.update(b);
    s.sync();
    g.close();
    b.close();
    EXPECT_TRUE(eventually([] { return stats().graph_callbacks == 0 && nothing_outstanding(); }));
    graph_builder given_up(s);
    given_up.begin_building();
}

// contract: G4
TEST_F(library_graph_captures, builders_and_graphs_on_other_streams_leave_a_capture_whole) {
    for (const auto mode : {abi::capture_mode::global, abi::capture_mode::thread_local_mode}) {
        for (const bool same_thread : {true, false}) {
            begin_raw(*s2_, mode);
            if (same_thread) {
                use_everything(*s_);
            } else {
                std::thread([this] { use_everything(*s_); }).join();
            }
            EXPECT_EQ(capture_of(*s2_), abi::capture_status::active);
            EXPECT_EQ(contract::api().graph_destroy(end_raw(*s2_)), 0);
        }
    }
}

}  // namespace
}  // namespace hostlaunch::test
