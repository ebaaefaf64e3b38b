// SPDX-License-Identifier: Apache-2.0
// Arguments of functions in graphs through the C++ library: when they are copied, how long they
// live.
#include <gtest/gtest.h>

#include <memory>

#include "contract/library_graph_case.hpp"

namespace hostlaunch::test {
namespace {

using library_graph_arguments = with_graphs<on_any_driver>;

// contract: C5
TEST_F(library_graph_arguments, are_copied_when_the_call_is_made_and_there_in_every_run) {
    std::vector<std::string> seen;
    graph_builder b = built([&seen](graph_builder& to) {
        std::string text = "before";
        const auto note = [&seen](const std::string& first, const std::string& second) {
            seen.push_back(first + second);
        };
        host_launch(to, note, text, " and literal");
        text = "after";
        to.callback(note, text, std::string(" moved"));
    });
    graph g = b.complete();
    b.close();
    launch_and_wait(g, 2);
    const std::vector<std::string> once{"before and literal", "after moved"};
    EXPECT_EQ(seen, (std::vector{once[0], once[1], once[0], once[1]}));
}

// contract: C5
TEST_F(library_graph_arguments, may_be_changed_by_a_run_and_refer_by_reference) {
    int sum = 0;
    graph_builder b = built([&sum](graph_builder& to) {
        host_launch(to, [](int& total, int& step) { total += step++; }, std::ref(sum), 1);
        host_launch(to, [](void* total) { *static_cast<int*>(total) += 100; }, &sum);
    });
    graph g = b.complete();
    launch_and_wait(g, 3);
    EXPECT_EQ(sum, 1 + 2 + 3 + 300);
}

// contract: B2, C5
TEST_F(library_graph_arguments, live_as_long_as_their_callable) {
    fate& f = make_fate();
    graph_builder b = built([&f](graph_builder& to) {
        host_launch(
            to, [](const watched& w, const auto&) { w(); }, watched(f), std::array<char, 100>{});
    });
    graph g = b.complete();
    b.close();
    launch_and_wait(g, 2);
    expect_kept(f);
    g.close();
    EXPECT_TRUE(is_gone(f));
    EXPECT_EQ(f.ran, 2);
}

// contract: B6, C5
TEST_F(library_graph_arguments, are_replaced_with_their_callable) {
    int last = 0;
    const auto set = [&last](const std::unique_ptr<int>& value) { last = *value; };
    graph_node node;
    graph_builder b =
        built([&](graph_builder& to) { node = to.callback(set, std::make_unique<int>(1)); });
    graph g = b.complete();
    launch_and_wait(g);
    EXPECT_EQ(last, 1);
    g.update_callback(node, set, std::make_unique<int>(2));
    launch_and_wait(g);
    EXPECT_EQ(last, 2);
}

// contract: C5
TEST_F(library_graph_arguments, of_a_null_function_are_refused_with_it) {
    void (*none)(int) = nullptr;
    graph_node node;
    graph_builder b = built([&](graph_builder& to) {
        node = to.callback([] {});
        EXPECT_EQ(code_thrown_by([&] { host_launch(to, none, 1); }), abi::error_invalid_value);
        EXPECT_EQ(code_thrown_by([&] { to.callback(std::function<void()>()); }),
                  abi::error_invalid_value);
    });
    graph g = b.complete();
    EXPECT_EQ(code_thrown_by([&] { g.update_callback(node, none, 1); }), abi::error_invalid_value);
    EXPECT_EQ(held(), 1u);
    launch_and_wait(g);
}

}  // namespace
}  // namespace hostlaunch::test
