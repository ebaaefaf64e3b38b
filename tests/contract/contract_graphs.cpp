// SPDX-License-Identifier: Apache-2.0
// Graphs: replay of what was captured, and what captures and graphs forbid each other.
#include "contract/graph_scene.hpp"

namespace hostlaunch::contract {
namespace {

using graphs = graph_test;

// contract: B3
TEST_F(graphs, each_launch_runs_the_functions_once_more_in_their_order) {
    const stream s = make_stream();
    journal& book = keep<journal>();
    const graph g = capture(s, [&] {
        for (int i = 0; i < 3; ++i) {
            ASSERT_EQ(launch(s, book, i), success);
        }
    });
    const graph_exec exec = instantiate(g);
    ASSERT_EQ(api().graph_upload(exec, s), success);
    ASSERT_EQ(api().stream_synchronize(s), success);
    EXPECT_TRUE(book.written().empty());
    run(exec, s);
    EXPECT_EQ(book.written(), (std::vector{0, 1, 2}));
    ASSERT_EQ(launch(s, book, 3), success);
    ASSERT_EQ(api().graph_launch(exec, s), success);
    run(exec, s);
    EXPECT_EQ(book.written(), (std::vector{0, 1, 2, 3, 0, 1, 2, 0, 1, 2}));
}

// contract: B3
TEST_F(graphs, functions_and_memory_operations_keep_their_order) {
    const stream s = make_stream();
    struct check {
        const std::uint8_t* memory;
        std::atomic<int> seen{-1};
        static void look(void* self) {
            auto& c = *static_cast<check*>(self);
            c.seen = c.memory[63];
        }
    };
    auto* from = static_cast<std::uint8_t*>(make_host_memory(64));
    auto* to = static_cast<std::uint8_t*>(make_host_memory(64));
    const device_ptr memory = make_memory(64);
    check& c = keep<check>();
    c.memory = to;
    device_ptr from_device = 0;
    device_ptr to_device = 0;
    ASSERT_EQ(api().host_get_device_pointer(&from_device, from, 0), success);
    ASSERT_EQ(api().host_get_device_pointer(&to_device, to, 0), success);
    const graph g = capture(s, [&] {
        ASSERT_EQ(api().memcpy_async(memory, from_device, 64, s), success);
        ASSERT_EQ(api().memset_d8_async(memory, 9, 32, s), success);
        ASSERT_EQ(api().memcpy_async(to_device, memory, 64, s), success);
        ASSERT_EQ(api().launch_host_func(s, check::look, &c), success);
    });
    const graph_exec exec = instantiate(g);
    for (const int value : {3, 5}) {  // read when it is replayed
        std::fill_n(from, 64, static_cast<std::uint8_t>(value));
        run(exec, s);
        EXPECT_EQ(c.seen, value);
        EXPECT_EQ(to[0], 9);
    }
}

TEST_F(graphs, launches_of_one_executable_run_one_after_the_other_on_any_streams) {
    const stream first = make_stream();
    const stream second = make_stream();
    std::atomic<int>& ran = make_counter();
    blocker& held = make_blocker();
    const graph g = capture(first, [&] {
        ASSERT_EQ(launch(first, ran), success);
        ASSERT_EQ(api().launch_host_func(first, blocker::run, &held), success);
    });
    const graph_exec exec = instantiate(g);
    ASSERT_EQ(api().graph_upload(exec, first), success);
    ASSERT_EQ(api().stream_synchronize(first), success);
    ASSERT_EQ(api().graph_launch(exec, first), success);
    ASSERT_TRUE(held.wait_until_running());
    call& again = elsewhere([exec, second] { return api().graph_launch(exec, second); });
    observe("launching an executable in flight returns at once", again.returns());
    EXPECT_EQ(ran, 1);
    held.let_go();
    EXPECT_EQ(again.answer(), success);
    EXPECT_EQ(api().stream_synchronize(second), success);
    EXPECT_EQ(ran, 2);
}

TEST_F(graphs, a_second_stream_of_a_capture_is_replayed_between_fork_and_join) {
    const stream s = make_stream();
    const stream branch = make_stream();
    const event fork = make_event();
    const event join = make_event();
    journal& book = keep<journal>();
    const graph g = capture(s, [&] {
        ASSERT_EQ(launch(s, book, 0), success);
        ASSERT_EQ(api().event_record(fork, s), success);
        ASSERT_EQ(api().stream_wait_event(branch, fork, 0), success);
        ASSERT_EQ(launch(branch, book, 1), success);
        ASSERT_EQ(api().event_record(join, branch), success);
        ASSERT_EQ(api().stream_wait_event(s, join, 0), success);
        ASSERT_EQ(launch(s, book, 2), success);
    });
    const graph_exec exec = instantiate(g);
    run(exec, s);
    run(exec, branch);
    EXPECT_EQ(book.written(), (std::vector{0, 1, 2, 0, 1, 2}));
}

TEST_F(graphs, destroyed_ones_still_run_what_was_launched) {
    const stream s = make_stream();
    std::atomic<int>& ran = make_counter();
    blocker& held = make_blocker();
    const graph g = capture(s, [&] {
        ASSERT_EQ(api().launch_host_func(s, blocker::run, &held), success);
        ASSERT_EQ(launch(s, ran), success);
    });
    const graph_exec exec = instantiate(g);
    ASSERT_EQ(api().graph_launch(exec, s), success);
    ASSERT_TRUE(held.wait_until_running());
    call& destroys = elsewhere([this, g, exec] {
        destroy(g);
        destroy(exec);
        return success;
    });
    observe("destroying a graph and its executable in flight returns at once", destroys.returns());
    held.let_go();
    EXPECT_EQ(destroys.answer(), success);
    EXPECT_EQ(api().stream_synchronize(s), success);
    EXPECT_EQ(ran, 1);
}

// contract: B4
TEST_F(graphs, a_capture_that_ends_without_handing_out_its_graph_leaves_it_usable) {
    const stream s = make_stream();
    std::atomic<int>& ran = make_counter();
    capture_status status{};
    graph g = nullptr;
    ASSERT_EQ(api().stream_begin_capture(s, capture_mode::relaxed), success);
    ASSERT_EQ(api().stream_get_capture_info(s, &status, nullptr, &g, nullptr, nullptr, nullptr),
              success);
    ASSERT_EQ(launch(s, ran), success);
    ASSERT_EQ(api().stream_end_capture(s, nullptr), success);
    EXPECT_EQ(nodes_of(g).size(), 1u);
    run(instantiate(g), s);
    EXPECT_EQ(ran, 1);
    destroy(g);
}

TEST_F(graphs, capture_info_can_be_asked_for_in_part) {
    const stream s = make_stream();
    std::atomic<int>& ran = make_counter();
    capture_status status{};
    std::uint64_t id = 0;
    std::size_t count = 9;
    const graph_node* tips = nullptr;
    EXPECT_EQ(
        api().stream_get_capture_info(s, &status, nullptr, nullptr, nullptr, nullptr, nullptr),
        success);
    EXPECT_EQ(status, capture_status::none);
    const graph g = capture(s, [&] {
        ASSERT_EQ(launch(s, ran), success);
        EXPECT_EQ(
            api().stream_get_capture_info(s, &status, nullptr, nullptr, nullptr, nullptr, nullptr),
            success);
        EXPECT_EQ(status, capture_status::active);
        EXPECT_EQ(api().stream_get_capture_info(s, &status, &id, nullptr, &tips, nullptr, &count),
                  success);
        EXPECT_NE(id, 0u);
        ASSERT_EQ(count, 1u);
        EXPECT_NE(tips[0], nullptr);
    });
    EXPECT_EQ(nodes_of(g).size(), 1u);
}

TEST_F(graphs, launching_or_uploading_one_into_a_capture_is_refused_and_invalidates_it) {
    const stream s = make_stream();
    std::atomic<int>& ran = make_counter();
    const graph_exec exec = instantiate(capture_counts(s, ran));
    for (auto* call : {api().graph_launch, api().graph_upload}) {
        graph g = nullptr;
        ASSERT_EQ(api().stream_begin_capture(s, capture_mode::relaxed), success);
        EXPECT_EQ(call(exec, s), error_stream_capture_unsupported);
        EXPECT_EQ(status_of(s), capture_status::invalidated);
        EXPECT_EQ(api().stream_end_capture(s, &g), error_stream_capture_invalidated);
        EXPECT_EQ(g, nullptr);
    }
    run(exec, s);
    EXPECT_EQ(ran, 1);
}

TEST_F(graphs, one_that_is_being_captured_cannot_be_destroyed) {
    const stream s = make_stream();
    std::atomic<int>& ran = make_counter();
    capture_status status{};
    graph g = nullptr;
    const graph built = capture(s, [&] {
        ASSERT_EQ(api().stream_get_capture_info(s, &status, nullptr, &g, nullptr, nullptr, nullptr),
                  success);
        ASSERT_EQ(launch(s, ran), success);
        EXPECT_EQ(api().graph_destroy(g), error_illegal_state);
        EXPECT_EQ(status_of(s), capture_status::active);
        ASSERT_EQ(launch(s, ran), success);
    });
    EXPECT_EQ(built, g);
    run(instantiate(built), s);
    EXPECT_EQ(ran, 2);
}

TEST_F(graphs, instantiating_one_needs_a_current_context) {
    const stream s = make_stream();
    const graph g = capture_counts(s, make_counter());
    call& made = elsewhere(nullptr, [g] {
        graph_exec exec = nullptr;
        return api().graph_instantiate(&exec, g, 0);
    });
    EXPECT_EQ(made.answer(), error_invalid_context);
}

// contract: G4
TEST_F(graphs, relaxed_calls_about_graphs_leave_a_global_capture_alone) {
    const stream s = make_stream();
    const stream captures = make_stream();
    std::atomic<int>& ran = make_counter();
    const graph g = capture_counts(s, ran);
    ending_mark& mark = give_object(g);
    ASSERT_EQ(api().stream_begin_capture(captures, capture_mode::global), success);
    capture_mode mode = capture_mode::relaxed;
    ASSERT_EQ(api().thread_exchange_capture_mode(&mode), success);
    const graph copy = clone(g);
    const graph_exec exec = instantiate(copy);
    EXPECT_EQ(api().graph_upload(exec, s), success);
    EXPECT_EQ(api().graph_launch(exec, s), success);
    const user_object object = make_object(make_mark());
    EXPECT_EQ(api().user_object_release(object, 1), success);
    destroy(exec);
    destroy(copy);
    destroy(g);
    ASSERT_EQ(api().thread_exchange_capture_mode(&mode), success);
    ASSERT_EQ(launch(captures, ran), success);
    EXPECT_EQ(status_of(captures), capture_status::active);
    EXPECT_EQ(nodes_of(end_capture(captures)).size(), 1u);
    EXPECT_EQ(api().stream_synchronize(s), success);
    EXPECT_EQ(ran, 1);
    EXPECT_TRUE(mark.comes());
}

// What each call about graphs does to a global capture of its own thread.
TEST_F(graphs, making_and_ending_an_executable_in_global_mode_invalidates_a_capture) {
    const stream s = make_stream();
    const stream captures = make_stream();
    std::atomic<int>& ran = make_counter();
    const graph g = capture_counts(s, ran);
    const graph doomed = capture_counts(s, ran);
    const graph_exec exec = instantiate(g);
    const graph_exec spared = instantiate(g);
    graph_exec made = nullptr;
    graph copy = nullptr;
    exec_update_result outcome{};
    const user_object object = make_object(make_mark(), 2);
    run(exec, s);
    const auto expect = [&](result wanted, const std::function<result()>& body) {
        const bool invalid = wanted != success;
        graph none = nullptr;
        ASSERT_EQ(api().stream_begin_capture(captures, capture_mode::global), success);
        EXPECT_EQ(body(), wanted);
        EXPECT_EQ(status_of(captures),
                  invalid ? capture_status::invalidated : capture_status::active);
        EXPECT_EQ(api().stream_end_capture(captures, &none),
                  invalid ? error_stream_capture_invalidated : success);
        if (none != nullptr) api().graph_destroy(none);
    };
    constexpr result refused = error_stream_capture_unsupported;
    expect(refused, [&] { return api().graph_instantiate(&made, g, 0); });
    expect(refused, [&] { return api().graph_exec_destroy(spared); });
    expect(success, [&] { return api().graph_upload(exec, s); });
    expect(success, [&] { return api().graph_launch(exec, s); });
    expect(success, [&] { return api().graph_exec_update(exec, g, &outcome); });
    expect(success, [&] { return api().graph_clone(&copy, g); });
    expect(success, [&] { return api().user_object_release(object, 1); });
    expect(success, [&] { return api().graph_destroy(doomed); });
    disown(doomed);
    destroy(copy);
    EXPECT_EQ(made, nullptr);
    EXPECT_EQ(api().user_object_release(object, 1), success);
    EXPECT_EQ(api().stream_synchronize(s), success);
    run(exec, s);
    EXPECT_EQ(ran, 3);
}

TEST_F(graphs, one_can_be_built_by_hand_with_a_child) {
    const stream s = make_stream();
    journal& book = keep<journal>();
    const graph child = capture(s, [&] { ASSERT_EQ(launch(s, book, 1), success); });
    const graph g = create();
    const host_node_params first{journal::enter, book.line_of(0)};
    const host_node_params last{journal::enter, book.line_of(2)};
    graph_node node = nullptr;
    ASSERT_EQ(api().graph_add_host_node(&node, g, nullptr, 0, &first), success);
    ASSERT_EQ(api().graph_add_child_graph_node(&node, g, &node, 1, child), success);
    graph inside = nullptr;
    ASSERT_EQ(api().graph_child_graph_node_get_graph(node, &inside), success);
    EXPECT_NE(inside, child);
    ASSERT_EQ(api().graph_add_host_node(&node, g, &node, 1, &last), success);
    destroy(child);
    run(instantiate(g), s);
    EXPECT_EQ(book.written(), (std::vector{0, 1, 2}));
}

TEST_F(graphs, dependencies_of_a_capture_can_be_replaced) {
    const stream s = make_stream();
    std::atomic<int>& ran = make_counter();
    graph g = nullptr;
    capture_status status{};
    const graph built = capture(s, [&] {
        ASSERT_EQ(api().stream_get_capture_info(s, &status, nullptr, &g, nullptr, nullptr, nullptr),
                  success);
        ASSERT_EQ(launch(s, ran), success);
        const host_node_params params{count_up, &ran};
        graph_node added = nullptr;
        ASSERT_EQ(api().graph_add_host_node(&added, g, nullptr, 0, &params), success);
        constexpr unsigned set = 1;
        ASSERT_EQ(api().stream_update_capture_dependencies(s, &added, nullptr, 1, set), success);
        ASSERT_EQ(launch(s, ran), success);
    });
    EXPECT_EQ(nodes_of(built).size(), 3u);
    run(instantiate(built), s);
    EXPECT_EQ(ran, 3);
    EXPECT_EQ(api().stream_update_capture_dependencies(s, nullptr, nullptr, 0, 1),
              error_illegal_state);
}

}  // namespace
}  // namespace hostlaunch::contract
