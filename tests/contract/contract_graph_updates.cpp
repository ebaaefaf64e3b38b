// SPDX-License-Identifier: Apache-2.0
// Updates of graphs and executables: what they change, from when on, and what a failed one leaves.
#include "contract/graph_scene.hpp"

namespace hostlaunch::contract {
namespace {

class graph_updates : public graph_test {
  protected:
    // Tries an update that cannot be, and tells what the driver says of it.
    void expect_refused(const char* what, graph_exec exec, graph from, std::atomic<int>& old,
                        std::atomic<int>& fresh) {
        exec_update_result outcome{};
        ending_mark& mark = give_object(from);
        EXPECT_EQ(api().graph_exec_update(exec, from, &outcome), error_graph_exec_update_failure);
        std::printf("observed: update, %s: outcome %d, node %d, from node %d\n", what,
                    outcome.outcome, node_number(from, outcome.error_node),
                    node_number(from, outcome.error_from_node));
        EXPECT_NE(outcome.outcome, exec_update_success);
        destroy(from);
        EXPECT_TRUE(mark.comes());  // the executable took no reference
        const int before = old;
        run(exec, s_);
        EXPECT_EQ(old, before + 2);
        EXPECT_EQ(fresh, 0);
    }
    // The node's place in its graph, or -1.
    static int node_number(graph g, graph_node node) {
        const std::vector<graph_node> nodes = nodes_of(g);
        const auto found = std::find(nodes.begin(), nodes.end(), node);
        return found == nodes.end() ? -1 : static_cast<int>(found - nodes.begin());
    }
    void SetUp() override {
        graph_test::SetUp();
        if (ctx_ != nullptr) s_ = make_stream();
    }

    stream s_ = nullptr;
};

// contract: B6
TEST_F(graph_updates, an_update_takes_over_functions_and_affects_future_launches_only) {
    std::atomic<int>& old = make_counter();
    std::atomic<int>& fresh = make_counter();
    blocker& held = make_blocker();
    const graph first = capture(s_, [&] {
        ASSERT_EQ(api().launch_host_func(s_, blocker::run, &held), success);
        ASSERT_EQ(launch(s_, old), success);
    });
    const graph second = capture_counts(s_, fresh, 2);
    const graph_exec exec = instantiate(first);
    ASSERT_EQ(api().graph_launch(exec, s_), success);
    ASSERT_TRUE(held.wait_until_running());
    exec_update_result outcome{};
    call& updates = elsewhere([&] { return api().graph_exec_update(exec, second, &outcome); });
    observe("updating an executable in flight returns at once", updates.returns());
    held.let_go();
    EXPECT_EQ(updates.answer(), success);
    EXPECT_EQ(outcome.outcome, exec_update_success);
    EXPECT_EQ(api().stream_synchronize(s_), success);
    EXPECT_EQ(old, 1);
    EXPECT_EQ(fresh, 0);
    run(exec, s_);
    EXPECT_EQ(old, 1);
    EXPECT_EQ(fresh, 2);
    run(instantiate(first), s_);  // the source is what it was
    EXPECT_EQ(old, 2);
}

// contract: B2, B6
TEST_F(graph_updates, an_update_replaces_the_references) {
    std::atomic<int>& ran = make_counter();
    const graph first = capture_counts(s_, ran);
    const graph second = capture_counts(s_, ran);
    ending_mark& old = give_object(first);
    ending_mark& fresh = give_object(second);
    const graph_exec exec = instantiate(first);
    exec_update_result outcome{};
    destroy(first);
    ASSERT_EQ(api().graph_exec_update(exec, second, &outcome), success);
    EXPECT_TRUE(old.comes());
    destroy(second);
    EXPECT_TRUE(fresh.stays_away());
    destroy(exec);
    EXPECT_TRUE(fresh.comes());
    EXPECT_EQ(old.ended, 1);
    EXPECT_EQ(fresh.ended, 1);
}

// contract: B2, B6
TEST_F(graph_updates, launches_in_flight_keep_replaced_references) {
    std::atomic<int>& ran = make_counter();
    blocker& held = make_blocker();
    const graph first = capture_function(s_, blocker::run, &held);
    const graph second = capture_counts(s_, ran);
    ending_mark& old = give_object(first);
    const graph_exec exec = instantiate(first);
    destroy(first);
    ASSERT_EQ(api().graph_launch(exec, s_), success);
    ASSERT_TRUE(held.wait_until_running());
    exec_update_result outcome{};
    call& updates = elsewhere([&] { return api().graph_exec_update(exec, second, &outcome); });
    updates.returns();
    EXPECT_TRUE(old.stays_away());
    held.let_go();
    EXPECT_EQ(updates.answer(), success);
    EXPECT_EQ(api().stream_synchronize(s_), success);
    const bool came = old.comes();
    observe("replaced references end once the launch has completed", came);
    EXPECT_TRUE(came);
}

// contract: B6
TEST_F(graph_updates, one_from_a_graph_of_another_shape_fails_and_changes_nothing) {
    std::atomic<int>& old = make_counter();
    std::atomic<int>& fresh = make_counter();
    const device_ptr memory = make_memory(8);
    const graph_exec exec = instantiate(capture_counts(s_, old, 2));
    expect_refused("one node more", exec, capture_counts(s_, fresh, 3), old, fresh);
    expect_refused("one node less", exec, capture_counts(s_, fresh, 1), old, fresh);
    expect_refused("no nodes", exec, capture(s_, [] {}), old, fresh);
    expect_refused("the second node of another type", exec,
                   capture(s_,
                           [&] {
                               ASSERT_EQ(launch(s_, fresh), success);
                               ASSERT_EQ(api().memset_d8_async(memory, 1, 8, s_), success);
                           }),
                   old, fresh);
    const graph parallel = create();
    const host_node_params params{count_up, &fresh};
    for (graph_node node = nullptr; nodes_of(parallel).size() < 2;) {
        ASSERT_EQ(api().graph_add_host_node(&node, parallel, nullptr, 0, &params), success);
    }
    expect_refused("no dependency", exec, parallel, old, fresh);
}

TEST_F(graph_updates, an_update_from_no_graph_is_refused_and_tells_nothing) {
    std::atomic<int>& ran = make_counter();
    const graph_exec exec = instantiate(capture_counts(s_, ran));
    exec_update_result outcome{};
    EXPECT_EQ(api().graph_exec_update(exec, nullptr, &outcome), error_invalid_value);
    EXPECT_EQ(outcome.outcome, exec_update_success);
    run(exec, s_);
    EXPECT_EQ(ran, 1);
}

TEST_F(graph_updates, a_chain_added_in_another_order_may_or_may_not_be_taken) {
    std::atomic<int>& old = make_counter();
    std::atomic<int>& fresh = make_counter();
    const host_node_params olds{count_up, &old};
    const host_node_params news{count_up, &fresh};
    const auto fork = [&](const host_node_params& params, bool leaf_first) {
        // A root with two behind it, one of which has another behind it.
        const graph g = create();
        graph_node root = nullptr;
        graph_node middle = nullptr;
        graph_node node = nullptr;
        EXPECT_EQ(api().graph_add_host_node(&root, g, nullptr, 0, &params), success);
        if (leaf_first) {
            EXPECT_EQ(api().graph_add_host_node(&node, g, &root, 1, &params), success);
        }
        EXPECT_EQ(api().graph_add_host_node(&middle, g, &root, 1, &params), success);
        EXPECT_EQ(api().graph_add_host_node(&node, g, &middle, 1, &params), success);
        if (!leaf_first) {
            EXPECT_EQ(api().graph_add_host_node(&node, g, &root, 1, &params), success);
        }
        return g;
    };
    const graph_exec exec = instantiate(fork(olds, true));
    exec_update_result outcome{};
    const result same = api().graph_exec_update(exec, fork(news, true), &outcome);
    EXPECT_EQ(same, success);
    const result other = api().graph_exec_update(exec, fork(olds, false), &outcome);
    observe("update from the same shape in another order", other);
    observe("  outcome", outcome.outcome);
    run(exec, s_);
    EXPECT_EQ(other == success ? old : fresh, 4);
    EXPECT_EQ(old + fresh, 4);
}

// contract: B6
TEST_F(graph_updates, a_changed_node_of_an_executable_affects_future_launches_only) {
    std::atomic<int>& old = make_counter();
    std::atomic<int>& fresh = make_counter();
    blocker& held = make_blocker();
    const graph g = capture(s_, [&] {
        ASSERT_EQ(api().launch_host_func(s_, blocker::run, &held), success);
        ASSERT_EQ(launch(s_, old), success);
    });
    const graph_exec exec = instantiate(g);
    ASSERT_EQ(api().graph_launch(exec, s_), success);
    ASSERT_TRUE(held.wait_until_running());
    const host_node_params params{count_up, &fresh};
    const graph_node node = nodes_of(g)[1];
    call& sets =
        elsewhere([&] { return api().graph_exec_host_node_set_params(exec, node, &params); });
    observe("changing a node of an executable in flight returns at once", sets.returns());
    held.let_go();
    EXPECT_EQ(sets.answer(), success);
    EXPECT_EQ(api().stream_synchronize(s_), success);
    EXPECT_EQ(old, 1);
    run(exec, s_);
    EXPECT_EQ(old, 1);
    EXPECT_EQ(fresh, 1);
}

// contract: B6
TEST_F(graph_updates, a_changed_node_of_a_graph_affects_future_executables_only) {
    std::atomic<int>& old = make_counter();
    std::atomic<int>& fresh = make_counter();
    const graph g = capture_counts(s_, old);
    const graph_exec before = instantiate(g);
    const graph copy = clone(g);
    const host_node_params params{count_up, &fresh};
    ASSERT_EQ(api().graph_host_node_set_params(nodes_of(g)[0], &params), success);
    run(before, s_);
    run(instantiate(copy), s_);
    EXPECT_EQ(old, 2);
    EXPECT_EQ(fresh, 0);
    run(instantiate(g), s_);
    EXPECT_EQ(fresh, 1);
}

TEST_F(graph_updates, a_node_is_found_in_a_clone_and_changed_there) {
    std::atomic<int>& old = make_counter();
    std::atomic<int>& fresh = make_counter();
    const graph g = capture_counts(s_, old, 2);
    const graph copy = clone(g);
    const graph_node node = nodes_of(g)[1];
    graph_node found = nullptr;
    ASSERT_EQ(api().graph_node_find_in_clone(&found, node, copy), success);
    EXPECT_NE(found, node);
    const host_node_params params{count_up, &fresh};
    ASSERT_EQ(api().graph_host_node_set_params(found, &params), success);
    run(instantiate(copy), s_);
    EXPECT_EQ(old, 1);
    EXPECT_EQ(fresh, 1);
    run(instantiate(g), s_);
    EXPECT_EQ(old, 3);
}

TEST_F(graph_updates, an_executable_can_be_updated_from_a_clone_by_the_source_s_nodes) {
    std::atomic<int>& old = make_counter();
    std::atomic<int>& fresh = make_counter();
    const graph g = capture_counts(s_, old);
    const graph copy = clone(g);
    const graph_exec exec = instantiate(g);
    const host_node_params params{count_up, &fresh};
    graph_node found = nullptr;
    ASSERT_EQ(api().graph_node_find_in_clone(&found, nodes_of(g)[0], copy), success);
    ASSERT_EQ(api().graph_host_node_set_params(found, &params), success);
    exec_update_result outcome{};
    ASSERT_EQ(api().graph_exec_update(exec, copy, &outcome), success);
    run(exec, s_);
    EXPECT_EQ(fresh, 1);
    observe("setting an executable's node by a clone's handle",
            api().graph_exec_host_node_set_params(exec, found, &params));
}

}  // namespace
}  // namespace hostlaunch::contract
