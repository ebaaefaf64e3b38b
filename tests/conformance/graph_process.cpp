// SPDX-License-Identifier: Apache-2.0
// Graphs and user objects in processes that exit, fork or fail, and misuse that may end a process:
// what a driver does then is observed, each in a process of its own.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "conformance/graph_scene.hpp"
#include "conformance/scenario.hpp"

namespace hostlaunch::conformance {
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

void show_result(const char* what, result seen) {
    observe(what, seen);
    std::fflush(nullptr);
}

HOSTLAUNCH_SCENARIO(exit_with_a_graph_in_flight) {
    const stream s = start();
    static gate& held = *new gate;
    const graph g = captured(s, gate::run, &held);
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
    static gate& held = *new gate;
    static ending_mark& mark = make_mark();
    const graph g = captured(s, gate::run, &held);
    const user_object object = make_object(mark);
    EXPECT_EQ(api().graph_retain_user_object(g, object, 1, 0), success);
    const graph_exec exec = instantiated(g);
    EXPECT_EQ(api().graph_launch(exec, s), success);
    EXPECT_TRUE(held.wait_until_running());
    const pid_t child = fork();
    if (child == 0) {
        alarm(30);
        show_result("forked child: graph launch", api().graph_launch(exec, s));
        show_result("forked child: exec destroy", api().graph_exec_destroy(exec));
        show_result("forked child: graph destroy", api().graph_destroy(g));
        show_result("forked child: user object release", api().user_object_release(object, 1));
        const bool ended = eventually([] { return mark.ended > 0; }, a_while);
        observe("forked child: the object ended", ended);
        std::fflush(nullptr);
        _exit(0);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    observe("forked child: wait status", status);
    held.open();
    EXPECT_EQ(api().stream_synchronize(s), success);
    EXPECT_EQ(api().user_object_release(object, 1), success);
    EXPECT_EQ(api().graph_destroy(g), success);
    EXPECT_EQ(api().graph_exec_destroy(exec), success);
    EXPECT_TRUE(mark.comes());
    return verdict();
}

// Calls that CUDA forbids where they are made: in a host function, and in a destructor.
struct forbidden_calls {
    const char* where;
    graph g;
    graph_exec exec;
    user_object object;
    stream s;
    std::atomic<int> ran{0};
    std::atomic<bool> done{false};

    forbidden_calls(const char* called, stream on) : where(called), s(on) {
        g = captured(s, count_up, &ran);
        exec = instantiated(g);
        object = make_object(make_mark(), 8);
    }
    static void make(void* self) {
        auto& f = *static_cast<forbidden_calls*>(self);
        graph_exec made = nullptr;
        device_ptr memory = 0;
        std::printf("observed: in %s:\n", f.where);
        show_result("  allocate", api().mem_alloc(&memory, 8));
        show_result("  instantiate", api().graph_instantiate(&made, f.g, 0));
        show_result("  graph launch", api().graph_launch(f.exec, f.s));
        show_result("  launch", api().launch_host_func(f.s, count_up, &f.ran));
        show_result("  stream query", api().stream_query(f.s));
        show_result("  user object retain", api().user_object_retain(f.object, 1));
        show_result("  user object release", api().user_object_release(f.object, 1));
        show_result("  exec destroy", api().graph_exec_destroy(f.exec));
        f.done = true;
    }
};

HOSTLAUNCH_SCENARIO(make_calls_in_a_function_of_a_graph) {
    const stream s = start();
    auto& calls = *new forbidden_calls("a function of a graph", create_stream());
    const graph_exec exec = instantiated(captured(s, forbidden_calls::make, &calls));
    EXPECT_EQ(api().graph_launch(exec, s), success);
    EXPECT_EQ(api().stream_synchronize(s), success);
    return verdict();
}

HOSTLAUNCH_SCENARIO(make_calls_in_a_destructor) {
    const stream s = start();
    auto& calls = *new forbidden_calls("a destructor", s);
    user_object object = nullptr;
    EXPECT_EQ(api().user_object_create(&object, &calls, forbidden_calls::make, 1, 1), success);
    EXPECT_EQ(api().user_object_release(object, 1), success);
    EXPECT_TRUE(eventually([&] { return calls.done.load(); }, promptly));
    return verdict();
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

HOSTLAUNCH_SCENARIO(destroy_a_graph_that_is_being_captured) {
    const stream s = start();
    static std::atomic<int> ran{0};
    capture_status status{};
    graph g = nullptr;
    EXPECT_EQ(api().stream_begin_capture(s, capture_mode::relaxed), success);
    EXPECT_EQ(api().stream_get_capture_info(s, &status, nullptr, &g, nullptr, nullptr, nullptr),
              success);
    EXPECT_EQ(api().launch_host_func(s, count_up, &ran), success);
    show_result("destroy a graph that is being captured", api().graph_destroy(g));
    show_result("  ending the capture then", api().stream_end_capture(s, &g));
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
    exec_update_result outcome{};
    show_result("null: graph destroy", api().graph_destroy(nullptr));
    show_result("null: exec destroy", api().graph_exec_destroy(nullptr));
    show_result("null: graph launch", api().graph_launch(nullptr, s));
    show_result("null: instantiate", api().graph_instantiate(&exec, nullptr, 0));
    show_result("null: clone", api().graph_clone(&g, nullptr));
    show_result("null: user object release", api().user_object_release(nullptr, 1));
    EXPECT_EQ(api().graph_create(&g, 0), success);
    show_result("null: retain of a null object", api().graph_retain_user_object(g, nullptr, 1, 0));
    exec = instantiated(g);
    show_result("null: update from null", api().graph_exec_update(exec, nullptr, &outcome));
    show_result("  outcome", outcome.outcome);
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
    const ending e = run_scenario("fork_with_a_graph_in_flight");
    EXPECT_TRUE(e.in_time);
    EXPECT_EQ(e.exit_code, 0) << e.output;
    EXPECT_TRUE(e.says("forked child: the object ended: 0")) << e.output;
    std::printf("%s", e.output.c_str());
}

class graph_misuse : public testing::TestWithParam<const char*> {};

// Undefined on a real driver: whatever it does, it is told. The embedded driver refuses.
TEST_P(graph_misuse, is_observed) {
    const ending e = run_scenario(GetParam());
    std::printf("%sobserved: %s: in time %d, exit code %d\n", e.output.c_str(), GetParam(),
                e.in_time, e.exit_code);
}

INSTANTIATE_TEST_SUITE_P(
    all, graph_misuse,
    testing::Values("make_calls_in_a_function_of_a_graph", "make_calls_in_a_destructor",
                    "release_more_than_the_graph_holds", "release_more_than_the_caller_holds",
                    "release_what_was_moved", "destroy_a_graph_that_is_being_captured",
                    "destroy_a_child_graph", "ask_for_capture_info_without_a_status",
                    "use_null_handles"),
    [](const auto& named) { return std::string(named.param); });

}  // namespace
}  // namespace hostlaunch::conformance
