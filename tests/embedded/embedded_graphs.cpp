// SPDX-License-Identifier: Apache-2.0
// Graphs as such: building, looking, cloning, editing; captures that end without handing one out.
#include <algorithm>
#include <array>

#include "embedded/graph_fixture.hpp"

namespace hostlaunch::embedded::test {
namespace {

class graphs : public embedded_driver {
  protected:
    void SetUp() override {
        embedded_driver::SetUp();
        s_ = make_stream();
        ASSERT_EQ(cuGraphCreate(&g_, 0), success);
    }
    void TearDown() override {
        EXPECT_EQ(cuGraphDestroy(g_), success);
        embedded_driver::TearDown();
    }
    graph_node add_host(std::atomic<int>& counter, std::initializer_list<graph_node> after) const {
        const host_node_params params{count_up, &counter};
        graph_node node = nullptr;
        EXPECT_EQ(cuGraphAddHostNode(&node, g_, after.begin(), after.size(), &params), success);
        return node;
    }
    void run(graph g) const {
        const graph_exec exec = instantiate(g);
        EXPECT_EQ(cuGraphLaunch(exec, s_), success);
        EXPECT_EQ(cuStreamSynchronize(s_), success);
        EXPECT_EQ(cuGraphExecDestroy(exec), success);
    }
    static std::vector<graph_node> dependencies_of(graph_node node) {
        std::array<graph_node, 8> nodes{};
        std::array<std::uint64_t, 8> edges{};
        edges.fill(~std::uint64_t{0});
        std::size_t count = nodes.size();
        EXPECT_EQ(cuGraphNodeGetDependencies_v2(node, nodes.data(), edges.data(), &count), success);
        EXPECT_EQ(edges[7], 0u);
        return {nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(count)};
    }
    static int type_of(graph_node node) {
        int type = -1;
        EXPECT_EQ(cuGraphNodeGetType(node, &type), success);
        return type;
    }

    stream s_ = nullptr;
    graph g_ = nullptr;
};

TEST_F(graphs, a_graph_built_by_hand_runs_and_shows_its_nodes_and_edges) {
    std::atomic<int> ran{0};
    const graph_node first = add_host(ran, {});
    const graph_node second = add_host(ran, {});
    const graph_node last = add_host(ran, {first, second});
    EXPECT_EQ(nodes_of(g_), (std::vector{first, second, last}));
    EXPECT_EQ(dependencies_of(last), (std::vector{first, second}));
    std::array<graph_node, 4> roots{};
    std::size_t count = roots.size();
    EXPECT_EQ(cuGraphGetRootNodes(g_, roots.data(), &count), success);
    EXPECT_EQ(count, 2u);
    EXPECT_EQ(roots, (std::array<graph_node, 4>{first, second, nullptr, nullptr}));
    std::array<graph_node, 2> from{};
    std::array<graph_node, 2> to{};
    count = 0;
    EXPECT_EQ(cuGraphGetEdges(g_, nullptr, nullptr, &count), success);
    EXPECT_EQ(count, 2u);
    EXPECT_EQ(cuGraphGetEdges_v2(g_, from.data(), to.data(), nullptr, &count), success);
    EXPECT_EQ(from, (std::array{first, second}));
    EXPECT_EQ(to, (std::array{last, last}));
    EXPECT_EQ(cuGraphGetEdges(g_, from.data(), nullptr, &count), error_invalid_value);
    run(g_);
    EXPECT_EQ(ran, 3);
}

TEST_F(graphs, nodes_know_what_they_are) {
    std::atomic<int> ran{0};
    const event e = make_event();
    device_ptr memory = 0;
    ASSERT_EQ(cuMemAlloc_v2(&memory, 8), success);
    const graph captured = capture(s_, [&] {
        ASSERT_EQ(cuMemcpyAsync(memory, memory + 4, 4, s_), success);
        ASSERT_EQ(cuMemsetD8Async(memory, 1, 4, s_), success);
        ASSERT_EQ(cuLaunchHostFunc(s_, count_up, &ran), success);
        ASSERT_EQ(cuStreamWriteValue32_v2(s_, memory, 1, 0), success);
        ASSERT_EQ(cuStreamWaitEvent(s_, e, 1), success);
        ASSERT_EQ(cuEventRecordWithFlags(e, s_, 1), success);
    });
    std::vector<int> types;
    for (const graph_node node : nodes_of(captured)) {
        types.push_back(type_of(node));
    }
    EXPECT_EQ(types, (std::vector{1, 2, 3, 12, 6, 7}));
    graph_node node = nullptr;
    ASSERT_EQ(cuGraphAddEmptyNode(&node, g_, nullptr, 0), success);
    EXPECT_EQ(type_of(node), 5);
    ASSERT_EQ(cuGraphAddChildGraphNode(&node, g_, &node, 1, captured), success);
    EXPECT_EQ(type_of(node), 4);
    ASSERT_EQ(cuGraphAddEventRecordNode(&node, g_, &node, 1, e), success);
    EXPECT_EQ(type_of(node), 7);
    ASSERT_EQ(cuGraphAddEventWaitNode(&node, g_, &node, 1, e), success);
    EXPECT_EQ(type_of(node), 6);
    run(g_);
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(cuEventSynchronize(e), success);
    EXPECT_EQ(cuGraphDestroy(captured), success);
    EXPECT_EQ(cuMemFree_v2(memory), success);
}

TEST_F(graphs, a_clone_is_a_graph_of_its_own) {
    std::atomic<int> ran{0};
    std::atomic<int> other{0};
    const graph_node node = add_host(ran, {});
    const graph_node second = add_host(ran, {node});
    graph clone = nullptr;
    ASSERT_EQ(cuGraphClone(&clone, g_), success);
    graph_node copy = nullptr;
    EXPECT_EQ(cuGraphNodeFindInClone(&copy, node, clone), success);
    EXPECT_NE(copy, node);
    const host_node_params params{count_up, &other};
    EXPECT_EQ(cuGraphHostNodeSetParams(copy, &params), success);
    host_node_params seen{};
    EXPECT_EQ(cuGraphHostNodeGetParams(node, &seen), success);
    EXPECT_EQ(seen.user_data, &ran);
    EXPECT_EQ(cuGraphHostNodeGetParams(copy, &seen), success);
    EXPECT_EQ(seen.fn, count_up);
    EXPECT_EQ(seen.user_data, &other);
    const graph_node late = add_host(ran, {});
    EXPECT_EQ(cuGraphNodeFindInClone(&copy, late, clone), error_invalid_value);
    EXPECT_EQ(cuGraphNodeFindInClone(&copy, node, g_), error_invalid_value);
    EXPECT_EQ(cuGraphNodeFindInClone(&copy, second, clone), success);
    EXPECT_EQ(cuGraphDestroyNode(second), success);
    EXPECT_EQ(cuGraphNodeFindInClone(&copy, second, clone), error_invalid_value);
    run(clone);
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(other, 1);
    EXPECT_EQ(cuGraphDestroy(clone), success);
}

TEST_F(graphs, a_destroyed_node_leaves_those_behind_it) {
    std::atomic<int> ran{0};
    std::atomic<int> gone{0};
    const graph_node first = add_host(ran, {});
    const graph_node middle = add_host(gone, {first});
    const graph_node last = add_host(ran, {first, middle});
    EXPECT_EQ(cuGraphDestroyNode(middle), success);
    EXPECT_EQ(cuGraphDestroyNode(middle), error_invalid_value);
    EXPECT_EQ(nodes_of(g_), (std::vector{first, last}));
    EXPECT_EQ(dependencies_of(last), (std::vector{first}));
    run(g_);
    EXPECT_EQ(ran, 2);
    EXPECT_EQ(gone, 0);
}

TEST_F(graphs, a_clone_is_right_after_a_node_was_destroyed) {
    std::atomic<int> ran{0};
    const graph_node gone = add_host(ran, {});
    const graph_node first = add_host(ran, {});
    const graph_node last = add_host(ran, {gone, first});
    EXPECT_EQ(cuGraphDestroyNode(gone), success);
    EXPECT_EQ(dependencies_of(last), (std::vector{first}));
    graph clone = nullptr;
    ASSERT_EQ(cuGraphClone(&clone, g_), success);
    EXPECT_EQ(dependencies_of(nodes_of(clone)[1]), (std::vector{nodes_of(clone)[0]}));
    EXPECT_EQ(cuGraphDestroy(clone), success);
    run(g_);
    EXPECT_EQ(ran, 2);
}

TEST_F(graphs, a_child_graph_is_copied_and_can_hold_its_own_parent) {
    std::atomic<int> ran{0};
    std::atomic<int> other{0};
    add_host(ran, {});
    graph_node node = nullptr;
    ASSERT_EQ(cuGraphAddChildGraphNode(&node, g_, nullptr, 0, g_), success);
    ASSERT_EQ(cuGraphAddChildGraphNode(&node, g_, nullptr, 0, g_), success);
    run(g_);
    EXPECT_EQ(ran, 4);
    graph inside = nullptr;
    ASSERT_EQ(cuGraphChildGraphNodeGetGraph(node, &inside), success);
    EXPECT_EQ(nodes_of(inside).size(), 2u);
    const host_node_params params{count_up, &other};
    EXPECT_EQ(cuGraphHostNodeSetParams(nodes_of(inside)[0], &params), success);
    run(g_);
    EXPECT_EQ(ran, 7);
    EXPECT_EQ(other, 1);
}

// contract: B4
TEST_F(graphs, a_capture_that_ends_without_handing_out_its_graph_leaves_it_usable) {
    std::atomic<int> ran{0};
    capture_status status{};
    graph g = nullptr;
    ASSERT_EQ(cuStreamBeginCapture_v2(s_, capture_mode::relaxed), success);
    ASSERT_EQ(cuStreamGetCaptureInfo_v3(s_, &status, nullptr, &g, nullptr, nullptr, nullptr),
              success);
    EXPECT_EQ(status, capture_status::active);
    ASSERT_EQ(cuLaunchHostFunc(s_, count_up, &ran), success);
    EXPECT_EQ(cuGraphDestroy(g), error_illegal_state);
    EXPECT_EQ(cuGraphDestroyNode(nodes_of(g)[0]), error_invalid_value);
    EXPECT_EQ(cuStreamEndCapture(s_, nullptr), success);
    run(g);
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(cuGraphDestroy(g), success);
}

TEST_F(graphs, dependencies_of_a_capture_can_be_added_and_replaced) {
    std::atomic<int> ran{0};
    capture_status status{};
    graph g = nullptr;
    graph_node foreign = add_host(ran, {});
    EXPECT_EQ(cuStreamUpdateCaptureDependencies(s_, nullptr, 0, 1), error_illegal_state);
    ASSERT_EQ(cuStreamBeginCapture_v2(s_, capture_mode::relaxed), success);
    ASSERT_EQ(cuStreamGetCaptureInfo_v2(s_, &status, nullptr, &g, nullptr, nullptr), success);
    ASSERT_EQ(cuLaunchHostFunc(s_, count_up, &ran), success);
    const host_node_params params{count_up, &ran};
    graph_node added = nullptr;
    ASSERT_EQ(cuGraphAddHostNode(&added, g, nullptr, 0, &params), success);
    EXPECT_EQ(cuStreamUpdateCaptureDependencies_v2(s_, &added, nullptr, 1, 0), success);
    ASSERT_EQ(cuLaunchHostFunc(s_, count_up, &ran), success);
    std::vector<graph_node> nodes = nodes_of(g);
    EXPECT_EQ(dependencies_of(nodes[2]), (std::vector{nodes[0], added}));
    EXPECT_EQ(cuStreamUpdateCaptureDependencies_v2(s_, &added, nullptr, 1, 1), success);
    ASSERT_EQ(cuLaunchHostFunc(s_, count_up, &ran), success);
    nodes = nodes_of(g);
    EXPECT_EQ(dependencies_of(nodes[3]), (std::vector{added}));
    const std::uint64_t data = 1;
    EXPECT_EQ(cuStreamUpdateCaptureDependencies_v2(s_, &added, &data, 1, 1), error_invalid_value);
    EXPECT_EQ(cuStreamUpdateCaptureDependencies(s_, &foreign, 1, 1), error_invalid_value);
    EXPECT_EQ(cuStreamUpdateCaptureDependencies(s_, nullptr, 1, 1), error_invalid_value);
    EXPECT_EQ(cuStreamUpdateCaptureDependencies(s_, &added, 1, 2), error_invalid_value);
    EXPECT_EQ(cuStreamEndCapture(s_, &g), success);  // dropped dependencies are not unjoined
    run(g);
    EXPECT_EQ(ran, 4);
    EXPECT_EQ(cuGraphDestroy(g), success);
}

TEST_F(graphs, what_was_joined_and_then_replaced_is_not_unjoined) {
    std::atomic<int> ran{0};
    const stream branch = make_stream();
    const event fork = make_event();
    const event join = make_event();
    const graph g = capture(s_, [&] {
        ASSERT_EQ(cuEventRecord(fork, s_), success);
        ASSERT_EQ(cuStreamWaitEvent(branch, fork, 0), success);
        ASSERT_EQ(cuLaunchHostFunc(branch, count_up, &ran), success);
        ASSERT_EQ(cuEventRecord(join, branch), success);
        ASSERT_EQ(cuStreamWaitEvent(s_, join, 0), success);
        ASSERT_EQ(cuStreamUpdateCaptureDependencies(s_, nullptr, 0, 1), success);
        ASSERT_EQ(cuLaunchHostFunc(s_, count_up, &ran), success);
    });
    EXPECT_EQ(dependencies_of(nodes_of(g)[1]).size(), 0u);
    run(g);
    EXPECT_EQ(ran, 2);
    EXPECT_EQ(cuGraphDestroy(g), success);
}

// contract: D3
TEST_F(graphs, wrong_arguments_are_refused) {
    std::atomic<int> ran{0};
    const graph_node node = add_host(ran, {});
    const host_node_params params{count_up, &ran};
    const host_node_params no_function{nullptr, &ran};
    const std::array twice{node, node};
    graph g = nullptr;
    graph_node out = nullptr;
    host_node_params seen{};
    std::size_t count = 0;
    int type = 0;
    ASSERT_EQ(cuGraphCreate(&g, 0), success);
    constexpr result no = error_invalid_value;
    EXPECT_EQ(cuGraphCreate(nullptr, 0), no);
    EXPECT_EQ(cuGraphCreate(&g, 1), no);
    EXPECT_EQ(cuGraphAddHostNode(&out, g_, nullptr, 0, nullptr), no);
    EXPECT_EQ(cuGraphAddHostNode(&out, g_, nullptr, 0, &no_function), no);
    EXPECT_EQ(cuGraphAddHostNode(nullptr, g_, nullptr, 0, &params), no);
    EXPECT_EQ(cuGraphAddHostNode(&out, g_, nullptr, 1, &params), no);
    EXPECT_EQ(cuGraphAddHostNode(&out, g_, twice.data(), 2, &params), no);
    EXPECT_EQ(cuGraphAddHostNode(&out, g, &node, 1, &params), no);  // a node of another graph
    EXPECT_EQ(cuGraphHostNodeSetParams(node, nullptr), no);
    EXPECT_EQ(cuGraphHostNodeSetParams(node, &no_function), no);
    EXPECT_EQ(cuGraphHostNodeGetParams(node, nullptr), no);
    EXPECT_EQ(cuGraphNodeGetType(node, nullptr), no);
    EXPECT_EQ(cuGraphNodeGetDependencies(node, nullptr, nullptr), no);
    EXPECT_EQ(cuGraphChildGraphNodeGetGraph(node, &g), no);
    EXPECT_EQ(cuGraphClone(nullptr, g_), no);
    EXPECT_EQ(cuGraphGetNodes(g_, nullptr, nullptr), no);
    EXPECT_EQ(cuGraphDestroy(g), success);
    const auto garbage = reinterpret_cast<graph>(&ran);
    for (const graph bad : {graph{nullptr}, g, garbage, reinterpret_cast<graph>(node)}) {
        EXPECT_EQ(cuGraphDestroy(bad), no);
        EXPECT_EQ(cuGraphClone(&g, bad), no);
        EXPECT_EQ(cuGraphGetNodes(bad, nullptr, &count), no);
        EXPECT_EQ(cuGraphGetRootNodes(bad, nullptr, &count), no);
        EXPECT_EQ(cuGraphGetEdges(bad, nullptr, nullptr, &count), no);
        EXPECT_EQ(cuGraphAddHostNode(&out, bad, nullptr, 0, &params), no);
        EXPECT_EQ(cuGraphAddEmptyNode(&out, bad, nullptr, 0), no);
        EXPECT_EQ(cuGraphAddChildGraphNode(&out, g_, nullptr, 0, bad), no);
        EXPECT_EQ(cuGraphNodeFindInClone(&out, node, bad), no);
    }
    for (const graph_node bad : {graph_node{nullptr}, reinterpret_cast<graph_node>(g_),
                                 reinterpret_cast<graph_node>(&ran)}) {
        EXPECT_EQ(cuGraphDestroyNode(bad), no);
        EXPECT_EQ(cuGraphNodeGetType(bad, &type), no);
        EXPECT_EQ(cuGraphHostNodeGetParams(bad, &seen), no);
        EXPECT_EQ(cuGraphHostNodeSetParams(bad, &params), no);
        EXPECT_EQ(cuGraphNodeGetDependencies(bad, nullptr, &count), no);
        EXPECT_EQ(cuGraphAddEmptyNode(&out, g_, &bad, 1), no);
    }
    EXPECT_EQ(nodes_of(g_).size(), 1u);
}

}  // namespace
}  // namespace hostlaunch::embedded::test
