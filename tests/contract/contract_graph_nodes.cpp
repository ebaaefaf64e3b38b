// SPDX-License-Identifier: Apache-2.0
// Nodes that set and copy memory, edges that are added and removed, and parameters that change.
#include "contract/memory_scene.hpp"

namespace hostlaunch::contract {
namespace {

constexpr std::size_t bytes = 64;

class graph_nodes : public memory_test {
  protected:
    void SetUp() override {
        memory_test::SetUp();
        graph_ = make_graph();
        from_ = make_memory(bytes);
        to_ = make_memory(bytes);
    }
    static fill_params fill_with(device_ptr dst, unsigned value) {
        return {dst, 0, value, 1, bytes, 1};
    }
    static copy_params copy_between(device_ptr from, device_ptr to) {
        copy_params p{};
        p.from.type = p.to.type = memory_type::device;
        p.from.address = from;
        p.to.address = to;
        p.from.pitch = p.to.pitch = p.width = bytes;
        p.height = p.depth = 1;
        return p;
    }
    graph_node add_fill(unsigned value, const std::vector<graph_node>& behind = {}) {
        const fill_params p = fill_with(from_, value);
        graph_node node = nullptr;
        EXPECT_EQ(
            calls().cuGraphAddMemsetNode(&node, graph_, behind.data(), behind.size(), &p, ctx_),
            success);
        return node;
    }
    graph_node add_copy(const std::vector<graph_node>& behind = {}) {
        const copy_params p = copy_between(from_, to_);
        graph_node node = nullptr;
        EXPECT_EQ(
            calls().cuGraphAddMemcpyNode(&node, graph_, behind.data(), behind.size(), &p, ctx_),
            success);
        return node;
    }
    void expect_copied(std::uint8_t value) {
        run_and_end(graph_, make_stream());
        EXPECT_EQ(read(to_, bytes), std::vector<std::uint8_t>(bytes, value));
    }
    static node_params any_fill(const fill_params& what, context ctx) {
        node_params p{};
        p.type = 2;  // CU_GRAPH_NODE_TYPE_MEMSET
        p.fill.what = what;
        p.fill.ctx = ctx;
        return p;
    }

    graph graph_ = nullptr;
    device_ptr from_ = 0;
    device_ptr to_ = 0;
};

// contract: N2
TEST_F(graph_nodes, set_and_copy_memory_in_the_order_of_their_edges) {
    add_copy({add_fill(7)});
    expect_copied(7);
}

// contract: N2
TEST_F(graph_nodes, run_behind_what_was_added_later_if_an_edge_says_so) {
    const graph_node copy = add_copy();
    const graph_node fill = add_fill(9);
    ASSERT_EQ(calls().cuGraphAddDependencies(graph_, &fill, &copy, 1), success);
    EXPECT_NE(calls().cuGraphAddDependencies(graph_, &fill, &copy, 1), success);  // it is there
    graph_node dependent = nullptr;
    std::size_t count = 1;
    EXPECT_EQ(calls().cuGraphNodeGetDependentNodes(fill, &dependent, &count), success);
    EXPECT_EQ(count, 1u);
    EXPECT_EQ(dependent, copy);
    expect_copied(9);
}

// contract: N2
TEST_F(graph_nodes, in_a_circle_cannot_be_instantiated) {
    const graph_node first = add_fill(1);
    const graph_node second = add_copy({first});
    graph_exec exec = nullptr;
    if (calls().cuGraphAddDependencies(graph_, &second, &first, 1) == success) {
        EXPECT_NE(api().graph_instantiate(&exec, graph_, 0), success);
        EXPECT_EQ(calls().cuGraphRemoveDependencies(graph_, &second, &first, 1), success);
    }
    expect_copied(1);
}

// contract: N2
TEST_F(graph_nodes, take_other_parameters) {
    const graph_node fill = add_fill(1);
    add_copy({fill});
    node_params p = any_fill(fill_with(from_, 2), ctx_);
    EXPECT_EQ(calls().cuGraphNodeSetParams(fill, &p), success);
    fill_params told{};
    EXPECT_EQ(calls().cuGraphMemsetNodeGetParams(fill, &told), success);
    EXPECT_EQ(told.dst, from_);
    EXPECT_EQ(told.value, 2u);
    EXPECT_EQ(told.width, bytes);
    expect_copied(2);
}

// contract: N2
TEST_F(graph_nodes, of_an_executable_take_other_parameters_and_can_be_left_out) {
    const graph_node fill = add_fill(1);
    const graph_node copy = add_copy({fill});
    const stream s = make_stream();
    graph_exec exec = nullptr;
    ASSERT_EQ(api().graph_instantiate(&exec, graph_, 0), success);
    node_params p = any_fill(fill_with(from_, 5), ctx_);
    EXPECT_EQ(calls().cuGraphExecNodeSetParams(exec, fill, &p), success);
    ASSERT_EQ(api().graph_launch(exec, s), success);
    ASSERT_EQ(api().stream_synchronize(s), success);
    EXPECT_EQ(read(to_, 1)[0], 5);
    p = any_fill(fill_with(from_, 6), ctx_);
    EXPECT_EQ(calls().cuGraphExecNodeSetParams(exec, fill, &p), success);
    EXPECT_EQ(calls().cuGraphNodeSetEnabled(exec, copy, 0), success);
    ASSERT_EQ(api().graph_launch(exec, s), success);
    ASSERT_EQ(api().stream_synchronize(s), success);
    EXPECT_EQ(read(from_, 1)[0], 6);
    EXPECT_EQ(read(to_, 1)[0], 5);
    EXPECT_EQ(api().graph_exec_destroy(exec), success);
    expect_copied(1);
}

}  // namespace
}  // namespace hostlaunch::contract
