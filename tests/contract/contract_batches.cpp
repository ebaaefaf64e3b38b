// SPDX-License-Identifier: Apache-2.0
// Waits and writes of values that stand in one batch, in streams and in graphs.
#include "contract/memory_scene.hpp"

namespace hostlaunch::contract {
namespace {

using enum value_operation;

constexpr unsigned until_equal = 1;
constexpr unsigned until_any_bit = 2;

class batches : public memory_test {
  protected:
    // A request, and a wait for its answer: what a thread of the host answers in stream order.
    std::vector<value_params> held_step() const {
        return {value_operation_on(write_64, second_, 0), value_operation_on(write_64, first_, 1),
                value_operation_on(wait_64, second_, 1, until_equal)};
    }
    static result enqueue(stream s, std::vector<value_params> batch) {
        return calls().cuStreamBatchMemOp(s, static_cast<unsigned>(batch.size()), batch.data(), 0);
    }
    batch_params params_of(std::vector<value_params>& batch) const {
        return {ctx_, static_cast<unsigned>(batch.size()), batch.data(), 0};
    }
    void answer() const {
        expect_word(0, 1);
        write_word(0, 0);
        write_word(1, 1);
    }
};

// contract: N2
TEST_F(batches, take_effect_in_order_and_hold_the_stream) {
    const stream s = make_stream();
    std::atomic<int>& ran = make_counter();
    ASSERT_EQ(enqueue(s, held_step()), success);
    ASSERT_EQ(launch(s, ran), success);
    expect_word(0, 1);
    EXPECT_EQ(api().stream_query(s), error_not_ready);
    EXPECT_EQ(ran, 0);
    answer();
    EXPECT_EQ(api().stream_synchronize(s), success);
    EXPECT_EQ(ran, 1);
}

// contract: N2
TEST_F(batches, of_words_of_both_widths_and_of_every_condition_are_taken) {
    const stream s = make_stream();
    ASSERT_EQ(enqueue(s, {value_operation_on(write_32, first_, 5),
                          value_operation_on(write_32, first_ + 4, 7),
                          value_operation_on(wait_32, first_, 4),
                          value_operation_on(wait_64, first_, 1u << 2, until_any_bit),
                          value_operation_on(write_64, second_, std::uint64_t{1} << 40)}),
              success);
    ASSERT_EQ(api().stream_synchronize(s), success);
    EXPECT_EQ(word(0), std::uint64_t{7} << 32 | 5);
    EXPECT_EQ(word(1), std::uint64_t{1} << 40);
}

// contract: N2
TEST_F(batches, that_are_wrong_anywhere_enqueue_nothing) {
    const stream s = make_stream();
    const value_params good = value_operation_on(write_64, first_, 9);
    EXPECT_NE(enqueue(s, {good, value_operation_on(static_cast<value_operation>(99), first_, 1)}),
              success);
    EXPECT_NE(enqueue(s, std::vector<value_params>(256, good)), success);
    EXPECT_EQ(api().stream_synchronize(s), success);
    EXPECT_EQ(word(0), 0u);
}

// contract: N2
TEST_F(batches, are_captured_as_one_node_each) {
    const stream s = make_stream();
    graph g = nullptr;
    std::size_t nodes = 0;
    ASSERT_EQ(api().stream_begin_capture(s, capture_mode::relaxed), success);
    EXPECT_EQ(enqueue(s, held_step()), success);
    ASSERT_EQ(api().stream_end_capture(s, &g), success);
    EXPECT_EQ(word(0), 0u);
    EXPECT_EQ(api().graph_get_nodes(g, nullptr, &nodes), success);
    EXPECT_EQ(nodes, 1u);
    graph_exec exec = nullptr;
    ASSERT_EQ(api().graph_instantiate(&exec, g, 0), success);
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(api().graph_launch(exec, s), success);
        answer();
        EXPECT_EQ(api().stream_synchronize(s), success);
    }
    EXPECT_EQ(api().graph_exec_destroy(exec), success);
    EXPECT_EQ(api().graph_destroy(g), success);
}

// contract: N2
TEST_F(batches, in_nodes_are_told_and_changed) {
    const graph g = make_graph();
    std::vector<value_params> batch{value_operation_on(write_64, first_, 1)};
    std::vector<value_params> other{value_operation_on(write_64, first_, 2)};
    batch_params params = params_of(batch);
    graph_node node = nullptr;
    ASSERT_EQ(calls().cuGraphAddBatchMemOpNode(&node, g, nullptr, 0, &params), success);
    batch[0].value = 3;  // the array was copied
    batch_params told{};
    ASSERT_EQ(calls().cuGraphBatchMemOpNodeGetParams(node, &told), success);
    ASSERT_EQ(told.count, 1u);
    EXPECT_EQ(told.operations[0].value, 1u);
    params = params_of(other);
    EXPECT_EQ(calls().cuGraphBatchMemOpNodeSetParams(node, &params), success);
    run_and_end(g, make_stream());
    EXPECT_EQ(word(0), 2u);
}

// contract: N2
TEST_F(batches, of_an_executable_take_other_words_and_no_other_operations) {
    const graph g = make_graph();
    std::vector<value_params> batch{value_operation_on(write_64, first_, 1)};
    batch_params params = params_of(batch);
    graph_node node = nullptr;
    graph_exec exec = nullptr;
    const stream s = make_stream();
    ASSERT_EQ(calls().cuGraphAddBatchMemOpNode(&node, g, nullptr, 0, &params), success);
    ASSERT_EQ(api().graph_instantiate(&exec, g, 0), success);
    batch[0] = value_operation_on(write_64, second_, 4);
    EXPECT_EQ(calls().cuGraphExecBatchMemOpNodeSetParams(exec, node, &params), success);
    ASSERT_EQ(api().graph_launch(exec, s), success);
    EXPECT_EQ(api().stream_synchronize(s), success);
    EXPECT_EQ(word(0), 0u);
    EXPECT_EQ(word(1), 4u);
    batch[0] = value_operation_on(wait_64, second_, 4);
    EXPECT_NE(calls().cuGraphExecBatchMemOpNodeSetParams(exec, node, &params), success);
    EXPECT_EQ(api().graph_exec_destroy(exec), success);
    EXPECT_EQ(api().graph_destroy(g), success);
}

}  // namespace
}  // namespace hostlaunch::contract
