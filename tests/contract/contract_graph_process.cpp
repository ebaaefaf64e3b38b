// SPDX-License-Identifier: Apache-2.0
// Graphs and user objects in processes that exit or fork, calls that CUDA forbids where they are
// made, and misuse that may end a process: each in a process of its own.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "contract/graph_scene.hpp"
#include "contract/scenario.hpp"
#include "support/child.hpp"

namespace hostlaunch::contract {
namespace {

constexpr int chosen_code = 7;
char ended_line[] = "an object ended\n";

stream start() {
    use_primary_context();
    return create_stream();
}

graph captured(stream s, host_fn fn, void* user_data) {
    graph g = nullptr;
    EXPECT_EQ(api().stream_begin_capture(s, capture_mode::relaxed), success);
    EXPECT_EQ(api().launch_host_func(s, fn, user_data), success);
    EXPECT_EQ(api().stream_end_capture(s, &g), success);
    return g;
}

graph_exec instantiated(graph g) {
    graph_exec exec = nullptr;
    EXPECT_EQ(api().graph_instantiate(&exec, g, 0), success);
    return exec;
}

user_object object_that_says_so() {
    user_object object = nullptr;
    EXPECT_EQ(api().user_object_create(&object, ended_line, say_line, 1, 1), success);
    return object;
}

HOSTLAUNCH_SCENARIO(exit_with_a_graph_in_flight) {
    const stream s = start();
    static blocker& held = *new blocker;
    const graph g = captured(s, blocker::run, &held);
    EXPECT_EQ(api().graph_retain_user_object(g, object_that_says_so(), 1, graph_user_object_move),
              success);
    EXPECT_EQ(api().graph_launch(instantiated(g), s), success);
    EXPECT_TRUE(held.wait_until_running());
    std::exit(verdict(chosen_code));
}

HOSTLAUNCH_SCENARIO(exit_with_objects_alive) {
    start();
    object_that_says_so();
    graph g = nullptr;
    EXPECT_EQ(api().graph_create(&g, 0), success);
    EXPECT_EQ(api().graph_retain_user_object(g, object_that_says_so(), 1, graph_user_object_move),
              success);
    std::exit(verdict(chosen_code));
}

HOSTLAUNCH_SCENARIO(fork_with_a_graph_in_flight) {
    const stream s = start();
    static blocker& held = *new blocker;
    static ending_mark& mark = make_mark();
    const graph g = captured(s, blocker::run, &held);
    const user_object object = make_object(mark);
    EXPECT_EQ(api().graph_retain_user_object(g, object, 1, 0), success);
    const graph_exec exec = instantiated(g);
    EXPECT_EQ(api().graph_launch(exec, s), success);
    EXPECT_TRUE(held.wait_until_running());
    test::in_forked_child([&] {
        EXPECT_EQ(api().graph_launch(exec, s), success);
        EXPECT_EQ(api().graph_exec_destroy(exec), error_not_initialized);
        EXPECT_EQ(api().graph_destroy(g), error_not_initialized);
        EXPECT_EQ(api().user_object_release(object, 1), success);
        EXPECT_FALSE(eventually([] { return mark.ended > 0; }, a_while));
    });
    held.let_go();
    EXPECT_EQ(api().stream_synchronize(s), success);
    EXPECT_EQ(api().user_object_release(object, 1), success);
    EXPECT_EQ(api().graph_destroy(g), success);
    EXPECT_EQ(mark.ended, 0);
    EXPECT_EQ(api().graph_exec_destroy(exec), success);
    EXPECT_TRUE(mark.comes());
    return verdict();
}

// Calls made in a host function and in a destructor. Their stream is held, so nothing runs in it.
struct inner_calls {
    graph g;
    graph_exec exec;
    user_object object;
    stream s = create_stream();
    stream spare_stream = create_stream();
    event spare_event = nullptr;
    device_ptr memory = 0;
    void* host_memory = nullptr;
    std::atomic<int> ran{0};
    std::atomic<bool> done{false};

    inner_calls() {
        EXPECT_EQ(api().event_create(&spare_event, event_disable_timing), success);
        EXPECT_EQ(api().mem_alloc(&memory, 8), success);
        EXPECT_EQ(api().mem_host_alloc(&host_memory, 8, 0), success);
        g = captured(s, count_up, &ran);
        exec = instantiated(g);
        object = make_object(make_mark(), 8);
        hold_by_value(s);
    }
    // What may have to wait is refused, what cannot is done (measured).
    static void make(void* self) {
        auto& c = *static_cast<inner_calls*>(self);
        graph_exec made = nullptr;
        device_ptr more = 0;
        context current = nullptr;
        capture_mode mode = capture_mode::relaxed;
        EXPECT_EQ(api().ctx_get_current(&current), error_not_permitted);
        EXPECT_EQ(api().mem_alloc(&more, 8), error_not_permitted);
        EXPECT_EQ(api().mem_free(c.memory), error_not_permitted);
        EXPECT_EQ(api().mem_free_host(c.host_memory), error_not_permitted);
        EXPECT_EQ(api().thread_exchange_capture_mode(&mode), success);
        EXPECT_EQ(api().thread_exchange_capture_mode(&mode), success);
        EXPECT_EQ(api().event_query(c.spare_event), success);
        EXPECT_EQ(api().event_destroy(c.spare_event), success);
        EXPECT_EQ(api().stream_destroy(c.spare_stream), success);
        EXPECT_EQ(api().graph_destroy(c.g), error_not_permitted);
        EXPECT_EQ(api().graph_instantiate(&made, c.g, 0), error_not_permitted);
        EXPECT_EQ(api().graph_launch(c.exec, c.s), success);
        EXPECT_EQ(api().launch_host_func(c.s, count_up, &c.ran), success);
        EXPECT_EQ(api().stream_query(c.s), error_not_ready);
        EXPECT_EQ(api().user_object_retain(c.object, 1), success);
        EXPECT_EQ(api().user_object_release(c.object, 1), success);
        EXPECT_EQ(api().graph_exec_destroy(c.exec), error_not_permitted);
        c.done = true;
    }
    static void make_more(void* self) {
        user_object made = nullptr;
        EXPECT_EQ(api().user_object_create(&made, &make_mark(), ending_mark::set, 1, 1), success);
        make(self);
    }
};

HOSTLAUNCH_SCENARIO(make_calls_in_a_function_of_a_stream) {
    const stream s = start();
    auto& calls = *new inner_calls;
    EXPECT_EQ(api().launch_host_func(s, inner_calls::make_more, &calls), success);
    EXPECT_EQ(api().stream_synchronize(s), success);
    EXPECT_TRUE(calls.done);
    std::exit(verdict());
}

HOSTLAUNCH_SCENARIO(make_calls_in_a_function_of_a_graph) {
    const stream s = start();
    auto& calls = *new inner_calls;
    const graph_exec exec = instantiated(captured(s, inner_calls::make_more, &calls));
    EXPECT_EQ(api().graph_launch(exec, s), success);
    EXPECT_EQ(api().stream_synchronize(s), success);
    EXPECT_TRUE(calls.done);
    std::exit(verdict());
}

HOSTLAUNCH_SCENARIO(make_calls_in_a_destructor_on_the_calling_thread) {
    start();
    auto& calls = *new inner_calls;
    user_object object = nullptr;
    EXPECT_EQ(api().user_object_create(&object, &calls, inner_calls::make, 1, 1), success);
    EXPECT_EQ(api().user_object_release(object, 1), success);
    EXPECT_TRUE(calls.done);
    std::exit(verdict());
}

HOSTLAUNCH_SCENARIO(make_calls_in_a_destructor_on_the_driver_s_thread) {
    const stream s = start();
    static std::atomic<int> ran{0};
    auto& calls = *new inner_calls;
    user_object object = nullptr;
    EXPECT_EQ(api().user_object_create(&object, &calls, inner_calls::make, 1, 1), success);
    const graph g = captured(s, count_up, &ran);
    EXPECT_EQ(api().graph_retain_user_object(g, object, 1, graph_user_object_move), success);
    const graph_exec exec = instantiated(g);
    EXPECT_EQ(api().graph_destroy(g), success);
    EXPECT_EQ(api().graph_launch(exec, s), success);
    EXPECT_EQ(api().stream_synchronize(s), success);
    EXPECT_EQ(api().graph_exec_destroy(exec), success);
    EXPECT_TRUE(eventually([&] { return calls.done.load(); }, promptly));
    std::exit(verdict());
}

HOSTLAUNCH_SCENARIO(release_more_than_the_graph_holds) {
    start();
    ending_mark& mark = make_mark();
    graph g = nullptr;
    EXPECT_EQ(api().graph_create(&g, 0), success);
    const user_object object = make_object(mark, 2);
    EXPECT_EQ(api().graph_retain_user_object(g, object, 1, graph_user_object_move), success);
    show_result("release 2 of 1 from a graph", api().graph_release_user_object(g, object, 2));
    observe("  the object ended", !mark.stays_away());
    show_result("  destroying the graph then", api().graph_destroy(g));
    return verdict();
}

HOSTLAUNCH_SCENARIO(release_more_than_the_caller_holds) {
    start();
    ending_mark& mark = make_mark();
    const user_object object = make_object(mark);
    show_result("release 2 of 1", api().user_object_release(object, 2));
    observe("  the object ended", !mark.stays_away());
    return verdict();
}

HOSTLAUNCH_SCENARIO(release_what_was_moved) {
    start();
    ending_mark& mark = make_mark();
    graph g = nullptr;
    EXPECT_EQ(api().graph_create(&g, 0), success);
    const user_object object = make_object(mark);
    EXPECT_EQ(api().graph_retain_user_object(g, object, 1, graph_user_object_move), success);
    show_result("release what was moved to a graph", api().user_object_release(object, 1));
    observe("  the object ended", !mark.stays_away());
    return verdict();
}

HOSTLAUNCH_SCENARIO(destroy_a_child_graph) {
    const stream s = start();
    static std::atomic<int> ran{0};
    const graph child = captured(s, count_up, &ran);
    graph parent = nullptr;
    graph inside = nullptr;
    graph_node node = nullptr;
    EXPECT_EQ(api().graph_create(&parent, 0), success);
    EXPECT_EQ(api().graph_add_child_graph_node(&node, parent, nullptr, 0, child), success);
    EXPECT_EQ(api().graph_child_graph_node_get_graph(node, &inside), success);
    show_result("destroy a child graph by its own handle", api().graph_destroy(inside));
    show_result("  destroying the parent then", api().graph_destroy(parent));
    return verdict();
}

HOSTLAUNCH_SCENARIO(ask_for_capture_info_without_a_status) {
    const stream s = start();
    std::uint64_t id = 0;
    EXPECT_EQ(api().stream_begin_capture(s, capture_mode::relaxed), success);
    show_result("capture info without a status",
                api().stream_get_capture_info(s, nullptr, &id, nullptr, nullptr, nullptr, nullptr));
    return verdict();
}

HOSTLAUNCH_SCENARIO(use_null_handles) {
    const stream s = start();
    graph g = nullptr;
    graph_exec exec = nullptr;
    show_result("null: graph destroy", api().graph_destroy(nullptr));
    show_result("null: exec destroy", api().graph_exec_destroy(nullptr));
    show_result("null: graph launch", api().graph_launch(nullptr, s));
    show_result("null: instantiate", api().graph_instantiate(&exec, nullptr, 0));
    show_result("null: clone", api().graph_clone(&g, nullptr));
    show_result("null: user object release", api().user_object_release(nullptr, 1));
    EXPECT_EQ(api().graph_create(&g, 0), success);
    show_result("null: retain of a null object", api().graph_retain_user_object(g, nullptr, 1, 0));
    return verdict();
}

// contract: X1
TEST(graphs_at_exit, one_in_flight_is_no_trouble) {
    const ending e = run_scenario("exit_with_a_graph_in_flight");
    EXPECT_TRUE(e.in_time);
    EXPECT_EQ(e.exit_code, chosen_code) << e.output;
    observe("exit with a graph in flight: the object ended", e.says("an object ended"));
}

// contract: X1
TEST(graphs_at_exit, objects_alive_are_no_trouble) {
    const ending e = run_scenario("exit_with_objects_alive");
    EXPECT_TRUE(e.in_time);
    EXPECT_EQ(e.exit_code, chosen_code) << e.output;
    observe("exit with objects alive: they ended", e.says("an object ended"));
}

// contract: X2
TEST(graphs_after_fork, a_child_runs_and_ends_nothing_of_the_parent) {
    expect_scenario("fork_with_a_graph_in_flight");
}

TEST(calls_inside, a_function_of_a_stream_are_permitted_in_part) {
    expect_scenario("make_calls_in_a_function_of_a_stream");
}

TEST(calls_inside, a_function_of_a_graph_are_permitted_in_part) {
    expect_scenario("make_calls_in_a_function_of_a_graph");
}

TEST(calls_inside, a_destructor_on_the_calling_thread_are_permitted_in_part) {
    expect_scenario("make_calls_in_a_destructor_on_the_calling_thread");
}

TEST(calls_inside, a_destructor_on_the_driver_s_thread_are_permitted_in_part) {
    expect_scenario("make_calls_in_a_destructor_on_the_driver_s_thread");
}

class graph_misuse : public testing::TestWithParam<const char*> {};

// Undefined on a real driver: whatever it does, it is told. The embedded driver refuses.
TEST_P(graph_misuse, is_observed) {
    observe_scenario(GetParam());
}

INSTANTIATE_TEST_SUITE_P(all, graph_misuse,
                         testing::Values("release_more_than_the_graph_holds",
                                         "release_more_than_the_caller_holds",
                                         "release_what_was_moved", "destroy_a_child_graph",
                                         "ask_for_capture_info_without_a_status",
                                         "use_null_handles"),
                         [](const auto& named) { return std::string(named.param); });

}  // namespace
}  // namespace hostlaunch::contract
