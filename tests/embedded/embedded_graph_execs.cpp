// SPDX-License-Identifier: Apache-2.0
// Executables: how they are made and refused, and what an update changes and when.
#include <array>

#include "embedded/graph_fixture.hpp"

namespace hostlaunch::embedded::test {
namespace {

class execs : public embedded_driver {
  protected:
    void SetUp() override {
        embedded_driver::SetUp();
        s_ = make_stream();
    }
    void launch(graph_exec exec) const {
        EXPECT_EQ(cuGraphLaunch(exec, s_), success);
        EXPECT_EQ(cuStreamSynchronize(s_), success);
    }
    static void destroy(graph g, graph_exec exec) {
        EXPECT_EQ(cuGraphExecDestroy(exec), success);
        EXPECT_EQ(cuGraphDestroy(g), success);
    }

    stream s_ = nullptr;
};

TEST_F(execs, an_executable_is_made_with_flags_or_with_parameters) {
    std::atomic<int> ran{0};
    const graph g = capture_counts(s_, {&ran});
    graph_exec exec = nullptr;
    graph_instantiate_params params{};
    params.flags = 2;  // upload
    params.upload = s_;
    params.outcome = -1;
    ASSERT_EQ(cuGraphInstantiateWithParams(&exec, g, &params), success);
    EXPECT_EQ(params.outcome, 0);
    launch(exec);
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(cuGraphExecDestroy(exec), success);
    params.flags = 4;  // for launches from a device
    EXPECT_EQ(cuGraphInstantiateWithParams(&exec, g, &params), error_invalid_value);
    EXPECT_EQ(params.outcome, 1);
    ASSERT_EQ(cuGraphInstantiateWithFlags(&exec, g, 1 | 8), success);
    destroy(g, exec);
}

// contract: D3
TEST_F(execs, wrong_arguments_are_refused) {
    std::atomic<int> ran{0};
    const graph g = capture_counts(s_, {&ran});
    graph_exec exec = instantiate(g);
    const graph_node node = nodes_of(g)[0];
    const host_node_params params{count_up, &ran};
    const host_node_params no_function{nullptr, &ran};
    exec_update_result outcome{};
    constexpr result no = error_invalid_value;
    EXPECT_EQ(cuGraphInstantiateWithFlags(nullptr, g, 0), no);
    EXPECT_EQ(cuGraphInstantiateWithFlags(&exec, g, 2), no);
    EXPECT_EQ(cuGraphInstantiateWithFlags(&exec, nullptr, 0), no);
    EXPECT_EQ(cuGraphInstantiateWithParams(&exec, g, nullptr), no);
    EXPECT_EQ(cuGraphExecUpdate_v2(exec, g, nullptr), no);
    EXPECT_EQ(cuGraphExecUpdate_v2(exec, nullptr, &outcome), no);
    EXPECT_EQ(outcome.outcome, exec_update_success);  // none was compared
    EXPECT_EQ(cuGraphExecHostNodeSetParams(exec, node, nullptr), no);
    EXPECT_EQ(cuGraphExecHostNodeSetParams(exec, node, &no_function), no);
    EXPECT_EQ(cuGraphLaunch(exec, reinterpret_cast<stream>(exec)), error_invalid_handle);
    EXPECT_EQ(cuGraphExecDestroy(exec), success);
    for (const graph_exec bad : {graph_exec{nullptr}, exec, reinterpret_cast<graph_exec>(g),
                                 reinterpret_cast<graph_exec>(&ran)}) {
        EXPECT_EQ(cuGraphLaunch(bad, s_), no);
        EXPECT_EQ(cuGraphUpload(bad, s_), no);
        EXPECT_EQ(cuGraphExecDestroy(bad), no);
        EXPECT_EQ(cuGraphExecUpdate_v2(bad, g, &outcome), no);
        EXPECT_EQ(cuGraphExecHostNodeSetParams(bad, node, &params), no);
    }
    EXPECT_EQ(cuGraphDestroy(g), success);
    EXPECT_EQ(ran, 0);
}

// contract: B6
TEST_F(execs, an_update_of_one_node_affects_future_launches_only) {
    std::atomic<int> old{0};
    std::atomic<int> fresh{0};
    const graph g = capture_counts(s_, {&old, &old});
    const graph_exec exec = instantiate(g);
    const graph_exec untouched = instantiate(g);
    const host_node_params params{count_up, &fresh};
    blocker b;
    ASSERT_EQ(cuLaunchHostFunc(s_, blocker::run, &b), success);
    ASSERT_EQ(cuGraphLaunch(exec, s_), success);
    EXPECT_EQ(cuGraphExecHostNodeSetParams(exec, nodes_of(g)[1], &params), success);
    ASSERT_EQ(cuGraphLaunch(exec, s_), success);
    ASSERT_EQ(cuGraphLaunch(untouched, s_), success);
    b.let_go();
    EXPECT_EQ(cuStreamSynchronize(s_), success);
    EXPECT_EQ(old, 2 + 1 + 2);
    EXPECT_EQ(fresh, 1);
    host_node_params seen{};
    EXPECT_EQ(cuGraphHostNodeGetParams(nodes_of(g)[1], &seen), success);
    EXPECT_EQ(seen.user_data, &old);
    EXPECT_EQ(cuGraphExecDestroy(untouched), success);
    destroy(g, exec);
}

TEST_F(execs, a_node_of_another_graph_is_not_updated) {
    std::atomic<int> ran{0};
    const graph g = capture_counts(s_, {&ran});
    const graph other = capture_counts(s_, {&ran});
    const graph_exec exec = instantiate(g);
    const host_node_params params{count_up, &ran};
    const graph_node node = nodes_of(g)[0];
    EXPECT_EQ(cuGraphExecHostNodeSetParams(exec, nodes_of(other)[0], &params), error_invalid_value);
    EXPECT_EQ(cuGraphDestroyNode(node), success);
    EXPECT_EQ(cuGraphExecHostNodeSetParams(exec, node, &params), error_invalid_value);
    launch(exec);
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(cuGraphDestroy(other), success);
    destroy(g, exec);
}

TEST_F(execs, a_node_in_a_child_graph_can_be_updated) {
    std::atomic<int> old{0};
    std::atomic<int> fresh{0};
    const graph child = capture_counts(s_, {&old});
    graph g = nullptr;
    graph inside = nullptr;
    graph_node node = nullptr;
    ASSERT_EQ(cuGraphCreate(&g, 0), success);
    ASSERT_EQ(cuGraphAddChildGraphNode(&node, g, nullptr, 0, child), success);
    ASSERT_EQ(cuGraphChildGraphNodeGetGraph(node, &inside), success);
    const graph_exec exec = instantiate(g);
    const host_node_params params{count_up, &fresh};
    EXPECT_EQ(cuGraphExecHostNodeSetParams(exec, nodes_of(inside)[0], &params), success);
    launch(exec);
    EXPECT_EQ(old, 0);
    EXPECT_EQ(fresh, 1);
    EXPECT_EQ(cuGraphDestroy(child), success);
    destroy(g, exec);
}

// contract: B6
TEST_F(execs, an_update_takes_over_functions_and_references_and_keeps_the_old_ones_in_flight) {
    std::atomic<int> old{0};
    std::atomic<int> fresh{0};
    tomb old_object;
    tomb fresh_object;
    const graph g = capture_counts(s_, {&old});
    const graph other = capture_counts(s_, {&fresh});
    give_object(g, old_object);
    give_object(other, fresh_object);
    const graph_exec exec = instantiate(g);
    exec_update_result outcome{};
    hostlaunch_embedded_set_manual(1);
    ASSERT_EQ(cuGraphLaunch(exec, s_), success);
    EXPECT_EQ(cuGraphExecUpdate_v2(exec, other, &outcome), success);
    EXPECT_EQ(outcome.outcome, exec_update_success);
    ASSERT_EQ(cuGraphLaunch(exec, s_), success);
    EXPECT_EQ(cuGraphDestroy(g), success);
    EXPECT_EQ(cuGraphDestroy(other), success);
    EXPECT_EQ(old_object.ended, 0);
    EXPECT_EQ(hostlaunch_embedded_step(1, patience_ms), 1);
    EXPECT_EQ(old, 1);
    EXPECT_TRUE(reaches(old_object.ended, 1));
    EXPECT_EQ(fresh, 0);
    EXPECT_EQ(hostlaunch_embedded_step(1, patience_ms), 1);
    settle();
    EXPECT_EQ(fresh, 1);
    EXPECT_EQ(fresh_object.ended, 0);
    EXPECT_EQ(cuGraphExecDestroy(exec), success);
    settle();
    EXPECT_EQ(fresh_object.ended, 1);
    EXPECT_EQ(old_object.ended, 1);
}

// contract: B6
TEST_F(execs, an_update_from_a_graph_of_another_shape_changes_nothing) {
    std::atomic<int> ran{0};
    std::atomic<int> other_ran{0};
    tomb object;
    device_ptr memory = 0;
    ASSERT_EQ(cuMemAlloc_v2(&memory, 8), success);
    const graph g = capture_counts(s_, {&ran, &ran});
    const graph_exec exec = instantiate(g);
    const graph longer = capture_counts(s_, {&other_ran, &other_ran, &other_ran});
    const graph of_other_kind = capture(s_, [&] {
        ASSERT_EQ(cuLaunchHostFunc(s_, count_up, &other_ran), success);
        ASSERT_EQ(cuMemsetD8Async(memory, 1, 8, s_), success);
    });
    graph parallel = nullptr;
    ASSERT_EQ(cuGraphCreate(&parallel, 0), success);
    const host_node_params params{count_up, &other_ran};
    for (graph_node node = nullptr; nodes_of(parallel).size() < 2;) {
        ASSERT_EQ(cuGraphAddHostNode(&node, parallel, nullptr, 0, &params), success);
    }
    struct expectation {
        graph from;
        int outcome;
        graph_node node;
    };
    for (const expectation& e :
         {expectation{longer, exec_update_topology_changed, nullptr},
          expectation{of_other_kind, exec_update_node_type_changed, nodes_of(of_other_kind)[1]},
          expectation{parallel, exec_update_topology_changed, nodes_of(parallel)[1]}}) {
        give_object(e.from, object);
        exec_update_result outcome{};
        EXPECT_EQ(cuGraphExecUpdate_v2(exec, e.from, &outcome), error_graph_exec_update_failure);
        EXPECT_EQ(outcome.outcome, e.outcome);
        EXPECT_EQ(outcome.error_node, e.node);
        EXPECT_EQ(cuGraphDestroy(e.from), success);
    }
    settle();
    EXPECT_EQ(object.ended, 3);
    launch(exec);
    EXPECT_EQ(ran, 2);
    EXPECT_EQ(other_ran, 0);
    destroy(g, exec);
    EXPECT_EQ(cuMemFree_v2(memory), success);
}

TEST_F(execs, a_value_node_keeps_its_operation) {
    device_ptr memory = 0;
    ASSERT_EQ(cuMemAlloc_v2(&memory, 8), success);
    const graph writes =
        capture(s_, [&] { ASSERT_EQ(cuStreamWriteValue32_v2(s_, memory, 1, 0), success); });
    const graph waits =
        capture(s_, [&] { ASSERT_EQ(cuStreamWaitValue32_v2(s_, memory, 1, 0), success); });
    const graph_exec exec = instantiate(writes);
    exec_update_result outcome{};
    EXPECT_EQ(cuGraphExecUpdate_v2(exec, waits, &outcome), error_graph_exec_update_failure);
    EXPECT_EQ(outcome.outcome, exec_update_parameters_changed);
    EXPECT_EQ(cuGraphDestroy(waits), success);
    destroy(writes, exec);
    EXPECT_EQ(cuMemFree_v2(memory), success);
}

TEST_F(execs, armed_failures_and_the_log_know_the_entries) {
    std::atomic<int> ran{0};
    tomb object;
    const graph g = capture_counts(s_, {&ran});
    graph_exec exec = nullptr;
    user_object made = nullptr;
    hostlaunch_embedded_set_log(1);
    EXPECT_EQ(hostlaunch_embedded_fail_call("cuGraphInstantiateWithFlags", 1, 2), 0);
    EXPECT_EQ(cuGraphInstantiateWithFlags(&exec, g, 0), error_out_of_memory);
    EXPECT_EQ(exec, nullptr);
    exec = instantiate(g);
    EXPECT_EQ(hostlaunch_embedded_fail_call("cuGraphLaunch", 2, 2), 0);
    launch(exec);
    EXPECT_EQ(cuGraphLaunch(exec, s_), error_out_of_memory);
    EXPECT_EQ(hostlaunch_embedded_fail_call("cuUserObjectCreate", 1, 2), 0);
    EXPECT_EQ(cuUserObjectCreate(&made, &object, tomb::fill, 1, 1), error_out_of_memory);
    made = make_object(object);
    EXPECT_EQ(hostlaunch_embedded_fail_call("cuGraphRetainUserObject", 1, 2), 0);
    EXPECT_EQ(cuGraphRetainUserObject(g, made, 1, graph_user_object_move), error_out_of_memory);
    EXPECT_EQ(cuUserObjectRelease(made, 1), success);  // still the caller's
    EXPECT_EQ(cuStreamSynchronize(s_), success);
    EXPECT_EQ(ran, 1);
    hostlaunch_embedded_call first{};
    ASSERT_EQ(hostlaunch_embedded_log_get(0, &first), 0);
    EXPECT_STREQ(first.entry, "cuGraphInstantiateWithFlags");
    EXPECT_EQ(first.result, error_out_of_memory);
    EXPECT_EQ(first.args[1], reinterpret_cast<std::uintptr_t>(g));
    destroy(g, exec);
    settle();
    EXPECT_EQ(object.ended, 1);
}

// Many threads, each with graphs and executables of its own.
TEST_F(execs, threads_may_replay_at_the_same_time) {
    constexpr int rounds = 100;
    std::atomic<int> ran{0};
    tomb object;
    {
        std::vector<std::unique_ptr<background>> threads;
        for (int i = 0; i < 4; ++i) {
            threads.push_back(std::make_unique<background>([&, s = make_stream()] {
                EXPECT_EQ(cuCtxSetCurrent(ctx_), success);
                for (int round = 0; round < rounds; ++round) {
                    const graph g = capture_counts(s, {&ran, &ran});
                    give_object(g, object);
                    const graph_exec exec = instantiate(g);
                    EXPECT_EQ(cuGraphLaunch(exec, s), success);
                    EXPECT_EQ(cuGraphDestroy(g), success);
                    EXPECT_EQ(cuGraphLaunch(exec, s), success);
                    EXPECT_EQ(cuGraphExecDestroy(exec), success);
                }
            }));
        }
    }
    settle();
    EXPECT_EQ(ran, 4 * rounds * 2 * 2);
    EXPECT_EQ(object.ended, 4 * rounds);
}

TEST_F(execs, making_and_ending_one_is_unsafe_during_a_capture) {
    std::atomic<int> ran{0};
    const stream captures = make_stream();
    const graph g = capture_counts(s_, {&ran});
    const graph_exec exec = instantiate(g);
    graph_exec made = nullptr;
    graph_instantiate_params params{};
    graph none = nullptr;
    const auto invalidates = [&](const std::function<result()>& call) {
        ASSERT_EQ(cuStreamBeginCapture_v2(captures, capture_mode::global), success);
        EXPECT_EQ(call(), error_stream_capture_unsupported);
        EXPECT_EQ(cuStreamEndCapture(captures, &none), error_stream_capture_invalidated);
    };
    invalidates([&] { return cuGraphInstantiateWithFlags(&made, g, 0); });
    invalidates([&] { return cuGraphInstantiateWithParams(&made, g, &params); });
    invalidates([&] { return cuGraphExecDestroy(exec); });
    EXPECT_EQ(made, nullptr);
    launch(exec);
    destroy(g, exec);
}

TEST_F(execs, making_one_needs_a_current_context) {
    std::atomic<int> ran{0};
    const graph g = capture_counts(s_, {&ran});
    background([&] {
        graph_exec exec = nullptr;
        graph_instantiate_params params{};
        EXPECT_EQ(cuGraphInstantiateWithFlags(&exec, g, 0), error_invalid_context);
        EXPECT_EQ(cuGraphInstantiateWithParams(&exec, g, &params), error_invalid_context);
        EXPECT_EQ(exec, nullptr);
    }).join();
    EXPECT_EQ(cuGraphDestroy(g), success);
}

}  // namespace
}  // namespace hostlaunch::embedded::test
