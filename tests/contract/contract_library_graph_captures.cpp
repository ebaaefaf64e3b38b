// SPDX-License-Identifier: Apache-2.0
// The captures behind the C++ library's builders: of others, forked, invalidated, given up.
#include "contract/library_graphs.hpp"

namespace hostlaunch::contract {
namespace {

using library_graph_captures = library_graphs;

// contract: B4
TEST_F(library_graph_captures, a_capture_begun_and_ended_by_others_takes_functions) {
    fate& f = make_fate();
    abi::graph made = nullptr;
    graph_exec exec = nullptr;
    ASSERT_EQ(api().stream_begin_capture(raw(), abi::capture_mode::global), success);
    graph_builder b = graph_builder::attach(s_->handle());
    b.callback(watched(f));
    EXPECT_EQ(code_of([&] { b.end_building(); }), static_cast<int>(misuse::foreign_capture));
    ASSERT_EQ(api().stream_end_capture(raw(), &made), success);
    EXPECT_EQ(code_of([&] { b.callback([] {}); }), static_cast<int>(misuse::not_building));
    ASSERT_EQ(api().stream_begin_capture(raw(), abi::capture_mode::global), success);
    EXPECT_EQ(code_of([&] { b.callback([] {}); }), static_cast<int>(misuse::not_building));
    b.close();
    EXPECT_EQ(status_of(raw()), capture_status::active);
    abi::graph empty = nullptr;
    ASSERT_EQ(api().stream_end_capture(raw(), &empty), success);
    EXPECT_EQ(api().graph_destroy(empty), success);
    ASSERT_EQ(api().graph_instantiate(&exec, made, 0), success);
    EXPECT_EQ(api().graph_destroy(made), success);
    for (int i = 0; i < 100; ++i)
        ASSERT_EQ(api().graph_launch(exec, raw()), success);
    s_->sync();
    EXPECT_EQ(f.ran, 100);
    EXPECT_EQ(f.destroyed, 0);
    EXPECT_EQ(api().graph_exec_destroy(exec), success);
    EXPECT_TRUE(is_gone(f));
}

// contract: B1, B4
TEST_F(library_graph_captures, a_forked_stream_takes_functions_and_must_be_joined) {
    journal& book = keep<journal>();
    fate& lost = make_fate();
    const auto note = [&book](int i) { return [&book, i] { journal::enter(book.line_of(i)); }; };
    graph_builder b(*s_);
    b.begin_building();
    b.callback(watched(lost));
    s2_->wait(*s_);
    graph_builder::attach(*s2_).callback([] {});
    EXPECT_EQ(code_of([&] { b.end_building(); }), error_stream_capture_unjoined);
    EXPECT_TRUE(is_gone(lost));
    b.begin_building();
    b.callback(note(0));
    s2_->wait(*s_);
    graph_builder::attach(*s2_).callback(note(1));
    s_->wait(*s2_);
    b.callback(note(2));
    b.end_building();
    hostlaunch::graph g = b.complete();
    launch_and_wait(g, 2);
    EXPECT_EQ(book.written(), (std::vector<int>{0, 1, 2, 0, 1, 2}));
    expect_usable(*s2_);
}

// contract: S5
TEST_F(library_graph_captures,
       a_plain_launch_is_refused_while_building_and_the_capture_is_as_it_was) {
    std::atomic<int>& ran = make_counter();
    hostlaunch::graph other = built([](graph_builder& to) { to.callback([] {}); }).complete();
    graph_builder b(*s_);
    b.begin_building(hostlaunch::capture_mode::global);
    const int refused = static_cast<int>(misuse::capturing);
    EXPECT_EQ(code_of([&] { host_launch(*s_, [&ran] { ran += 100; }); }), refused);
    EXPECT_EQ(code_of([&] { other.launch(*s_); }), refused);
    EXPECT_EQ(code_of([&] { other.upload(*s_); }), refused);
    EXPECT_TRUE(b.is_building());
    host_launch(b, [&ran] { ++ran; });
    b.end_building();
    hostlaunch::graph g = b.complete();
    launch_and_wait(g);
    EXPECT_EQ(ran, 1);
}

// contract: B1, B5
TEST_F(library_graph_captures, an_invalidated_capture_fails_and_building_can_begin_again) {
    fate& f = make_fate();
    fate& refused = make_fate();
    graph_builder b(*s_);
    b.begin_building();
    b.callback(watched(f));
    EXPECT_NE(api().stream_synchronize(raw()), success);
    EXPECT_EQ(code_of([&] { b.callback(watched(refused)); }), error_stream_capture_invalidated);
    EXPECT_EQ(refused.destroyed, 1);
    EXPECT_EQ(code_of([&] { b.end_building(); }), error_stream_capture_invalidated);
    EXPECT_TRUE(is_gone(f));
    expect_usable(*s_);
    b.begin_building();
    b.end_building();
}

// contract: B1
TEST_F(library_graph_captures, another_thread_cannot_end_a_capture_that_is_not_relaxed) {
    std::atomic<int>& ran = make_counter();
    graph_builder b(*s_);
    b.begin_building(hostlaunch::capture_mode::thread_local_mode);
    std::thread([&] {
        b.callback([&ran] { ++ran; });
        EXPECT_EQ(code_of([&] { b.end_building(); }), error_stream_capture_wrong_thread);
    }).join();
    b.end_building();
    hostlaunch::graph g = b.complete();
    launch_and_wait(g);
    EXPECT_EQ(ran, 1);
}

// contract: B1, B2
TEST_F(library_graph_captures, closing_a_builder_that_builds_ends_the_capture_on_any_thread) {
    for (const bool same_thread : {true, false}) {
        fate& f = make_fate();
        graph_builder b(*s_);
        b.begin_building();
        b.callback(watched(f));
        const auto close = [&b] { b.close(); };
        same_thread ? close() : std::thread(close).join();
        EXPECT_TRUE(is_gone(f));
        EXPECT_EQ(status_of(raw()), capture_status::none);
        expect_usable(*s_);
    }
}

// contract: G4
TEST_F(library_graph_captures, builders_and_graphs_leave_a_capture_of_others_whole) {
    const auto other = reinterpret_cast<abi::stream>(s2_->handle());
    abi::graph made = nullptr;
    ASSERT_EQ(api().stream_begin_capture(other, abi::capture_mode::global), success);
    hostlaunch::graph_node node;
    {
        graph_builder b = built([&](graph_builder& to) { node = to.callback([] {}); });
        hostlaunch::graph g = b.complete();
        g.upload(*s_);
        g.launch(*s_);
        g.update_callback(node, [] {});
        g.update(b);
        graph_builder given_up(*s_);
        given_up.begin_building();
    }
    EXPECT_EQ(status_of(other), capture_status::active);
    EXPECT_EQ(api().stream_end_capture(other, &made), success);
    EXPECT_EQ(api().graph_destroy(made), success);
}

// contract: B1, E3
TEST_F(library_graph_captures, calls_inside_a_function_are_refused_and_closing_comes_after_it) {
    std::atomic<int>& launch_code = make_counter();
    std::atomic<int>& add_code = make_counter();
    fate& f = make_fate();
    std::optional<hostlaunch::graph> g;
    graph_builder building(*s2_);
    building.begin_building();
    graph_builder b = built([&](graph_builder& to) {
        to.callback([&] {
            launch_code = code_of([&] { g->launch(*s_); });
            add_code = code_of([&] { building.callback([] {}); });
            g->close();
        });
        to.callback(watched(f));
    });
    g.emplace(b.complete());
    b.close();
    launch_and_wait(*g);
    EXPECT_EQ(launch_code, static_cast<int>(misuse::in_host_function));
    EXPECT_EQ(add_code, static_cast<int>(misuse::in_host_function));
    EXPECT_EQ(f.ran, 1);
    EXPECT_TRUE(is_gone(f));
}

}  // namespace
}  // namespace hostlaunch::contract
