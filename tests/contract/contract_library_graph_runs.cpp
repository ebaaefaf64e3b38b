// SPDX-License-Identifier: Apache-2.0
// Graphs through the C++ library: replay, what functions get, how long they live.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <stdexcept>

#include "contract/library_graph_case.hpp"

namespace hostlaunch::test {
namespace {

using library_graph_runs = with_graphs<on_any_driver>;

// contract: B1, S6
TEST_F(library_graph_runs,
       a_builder_goes_from_idle_over_building_to_built_and_says_what_is_too_early_or_late) {
    graph_builder b(*s_);
    const auto expect = [&b](misuse what, auto call) { expect_misuse(what, [&] { call(b); }); };
    const auto add = [](graph_builder& to) { to.callback([] {}); };
    const auto end = [](graph_builder& of) { of.end_building(); };
    const auto begin = [](graph_builder& of) { of.begin_building(); };
    const auto complete = [](graph_builder& of) { (void)of.complete(); };
    EXPECT_FALSE(b.is_building());
    expect(misuse::not_building, add);
    expect(misuse::not_building, end);
    expect(misuse::not_built, complete);
    EXPECT_EQ(&b.begin_building(), &b);
    EXPECT_TRUE(b.is_building());
    expect(misuse::already_building, begin);
    expect(misuse::not_built, complete);
    host_launch(b, [] {});
    EXPECT_EQ(&b.end_building(), &b);
    EXPECT_FALSE(b.is_building());
    expect(misuse::already_built, add);
    expect(misuse::already_built, end);
    expect(misuse::already_built, begin);
    graph g = b.complete();
    EXPECT_NE(g.handle(), nullptr);
    EXPECT_FALSE(b.is_closed());
    b.close();
    b.close();
    EXPECT_TRUE(b.is_closed());
    EXPECT_FALSE(b.is_building());
    for (auto call : {+add, +end, +begin, +complete})
        expect(misuse::closed, call);
    expect_misuse(misuse::closed, [&] { g.update(b); });
    EXPECT_EQ(graph_ran(), 0u);
}

// contract: B1
TEST_F(library_graph_runs, a_closed_graph_refuses_everything) {
    graph_node node;
    graph_builder b = built([&node](graph_builder& to) { node = to.callback([] {}); });
    graph g = b.complete();
    g.upload(*s_);
    g.close();
    g.close();
    EXPECT_TRUE(g.is_closed());
    fate& f = make_fate();
    expect_misuse(misuse::closed, [&] { g.launch(*s_); });
    expect_misuse(misuse::closed, [&] { g.upload(*s_); });
    expect_misuse(misuse::closed, [&] { g.update(b); });
    expect_misuse(misuse::closed, [&] { g.update_callback(node, watched(f)); });
    EXPECT_EQ(f.destroyed, 1);
    s_->close();
    graph another = b.complete();
    expect_misuse(misuse::closed, [&] { another.launch(*s_); });
    expect_misuse(misuse::closed, [&] { another.upload(*s_); });
}

// contract: B2, B3
TEST_F(library_graph_runs, a_function_runs_once_for_each_launch_whatever_else_has_died_before) {
    enum part { the_builder, the_stream, the_other_graph, the_other_builder };
    std::array<part, 4> order{the_builder, the_stream, the_other_graph, the_other_builder};
    do {
        fate& f = make_fate();
        std::optional<stream> captured(std::in_place);
        std::optional<graph_builder> b(std::in_place, *captured);
        b->begin_building();
        b->callback(watched(f));
        b->end_building();
        std::optional<graph_builder> other_builder(
            built([](graph_builder& to) { to.callback([] {}); }));
        std::optional<graph> g(b->complete());
        std::optional<graph> other(b->complete());
        for (const part p : order) {
            if (p == the_builder) b.reset();
            if (p == the_stream) captured.reset();
            if (p == the_other_graph) other.reset();
            if (p == the_other_builder) other_builder.reset();
            launch_and_wait(*g, 25);
        }
        EXPECT_EQ(f.ran, 100);
        expect_kept(f);
        g.reset();
        ASSERT_TRUE(is_gone(f));
    } while (std::next_permutation(order.begin(), order.end()));
}

// contract: B2
TEST_F(library_graph_runs, a_function_that_was_never_launched_is_destroyed_with_its_last_graph) {
    for (const bool graph_goes_first : {true, false}) {
        fate& f = make_fate();
        graph_builder b = built([&f](graph_builder& to) { to.callback(watched(f)); });
        graph g = b.complete();
        expect_kept(f);
        graph_goes_first ? g.close() : b.close();
        expect_kept(f);
        graph_goes_first ? b.close() : g.close();
        EXPECT_TRUE(is_gone(f));
        EXPECT_EQ(f.ran, 0);
    }
}

// contract: B3, O1
TEST_F(library_graph_runs, a_function_runs_between_the_copies_and_fills_around_it) {
    buffer device(64, buffer_kind::device, 0);
    buffer before(64, buffer_kind::pinned, 0);
    buffer after(64, buffer_kind::pinned, 0);
    std::atomic<int> wrong{0};
    const auto check = [&wrong](buffer& in, int value) {
        wrong += std::to_integer<int>(in.bytes().front()) == value ? 0 : 1;
    };
    graph_builder b = built([&](graph_builder& to) {
        device.fill(std::byte{1}, *s_);
        device.copy_to(before, *s_);
        to.callback([&] {
            check(before, 1);
            std::fill(before.bytes().begin(), before.bytes().end(), std::byte{2});
        });
        before.copy_to(device, *s_);
        to.callback([&] { before.bytes().front() = std::byte{3}; });
        device.copy_to(after, *s_);
        to.callback([&] { check(after, 2); });
    });
    graph g = b.complete();
    for (int i = 0; i < 200; ++i) {
        after.fill(std::byte{9}, *s_);
        g.launch(*s_);
        host_launch(*s_, [&] { check(after, 2); });
    }
    s_->sync();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(graph_ran(), 600u);
}

// contract: B3
TEST_F(library_graph_runs,
       a_launch_takes_its_place_in_the_stream_and_behind_the_graphs_former_launch) {
    blocker first;
    std::vector<int> seen;
    graph_builder b =
        built([&](graph_builder& to) { to.callback([&seen] { seen.push_back(1); }); });
    graph g = b.complete();
    host_launch(*s_, std::ref(first));
    host_launch(*s_, [&seen] { seen.push_back(0); });
    g.launch(*s_);
    g.launch(*s2_);  // waits for the launch on s_
    host_launch(*s2_, [&seen] { seen.push_back(2); });
    event done = s2_->record();
    EXPECT_FALSE(done.is_done());
    EXPECT_TRUE(seen.empty());
    first.let_go();
    done.sync();
    s_->sync();
    EXPECT_EQ(seen, (std::vector<int>{0, 1, 1, 2}));
}

struct stateful {
    std::unique_ptr<int> count = std::make_unique<int>(0);
    std::atomic<int>* sum;
    void operator()() { *sum += ++*count; }  // neither const nor copyable
};

// contract: C2
TEST_F(library_graph_runs, callables_of_every_kind_are_taken) {
    std::atomic<int> sum{0};
    struct large {
        std::array<std::atomic<int>*, 32> to{};
        void operator()() const { *to.back() += 100; }
    };
    struct alignas(128) aligned {
        std::atomic<int>* to;
        void operator()() const {
            *to += reinterpret_cast<std::uintptr_t>(this) % 128 == 0 ? 1000 : 0;
        }
    };
    large big;
    big.to.back() = &sum;
    int borrowed_calls = 0;
    auto borrowed = [&borrowed_calls] { ++borrowed_calls; };
    static std::atomic<int> plain_calls;
    plain_calls = 0;
    graph_builder b = built([&](graph_builder& to) {
        to.callback(stateful{.sum = &sum});
        to.callback(big);
        to.callback(aligned{&sum});
        to.callback(std::ref(borrowed));
        to.callback(+[] { ++plain_calls; });
        to.callback([&sum] { return sum += 10000; });  // what it returns does not matter
    });
    graph g = b.complete();
    launch_and_wait(g, 3);
    EXPECT_EQ(sum, 1 + 2 + 3 + 3 * 11100);
    EXPECT_EQ(borrowed_calls, 3);
    EXPECT_EQ(plain_calls, 3);
}

struct large_watched {
    watched inside;
    std::array<char, 200> bulk{};
    void operator()() const { inside(); }
};

// contract: C2
TEST_F(library_graph_runs, a_callable_is_destroyed_once_and_not_on_a_thread_of_the_driver) {
    fate& small = make_fate();
    fate& large = make_fate();
    static_assert(sizeof(large_watched) > 64);
    graph_builder b = built([&](graph_builder& to) {
        to.callback(watched(small));
        to.callback(large_watched{.inside = watched(large)});
    });
    graph g = b.complete();
    launch_and_wait(g, 2);
    b.close();
    g.close();
    for (const fate* f : {&small, &large}) {
        EXPECT_TRUE(is_gone(*f));
        EXPECT_EQ(f->ran, 2);
        EXPECT_NE(f->destroyed_on, f->ran_on);
    }
    let_everything_go();
    EXPECT_EQ(small.destroyed, 1);
    EXPECT_EQ(large.destroyed, 1);
}

// The driver forbids its threads to call it, the one that ends user objects included.
// contract: C2, L2
TEST_F(library_graph_runs, the_destructor_of_a_callable_may_call_the_driver) {
    struct calls_at_its_end {
        std::shared_ptr<std::atomic<int>> answer;
        calls_at_its_end(std::shared_ptr<std::atomic<int>> a) : answer(std::move(a)) {}
        calls_at_its_end(calls_at_its_end&&) = default;
        calls_at_its_end& operator=(calls_at_its_end&&) = delete;
        ~calls_at_its_end() {
            abi::context current = nullptr;
            if (answer != nullptr) *answer = contract::api().ctx_get_current(&current);
        }
        void operator()() const {}
    };
    const auto answer = std::make_shared<std::atomic<int>>(-1);
    graph_builder b = built([&](graph_builder& to) { to.callback(calls_at_its_end(answer)); });
    graph g = b.complete();
    launch_and_wait(g);
    b.close();
    g.close();
    EXPECT_TRUE(eventually([&] { return *answer != -1; }));
    EXPECT_EQ(*answer, 0);
}

// contract: C2, L2
TEST_F(library_graph_runs, a_callable_may_own_what_only_the_driver_can_destroy) {
    const std::int64_t streams = live_of("streams");
    {
        graph_builder b = built([](graph_builder& to) {
            to.callback([kept = std::make_shared<stream>()] { (void)kept; });
        });
        graph g = b.complete();
        launch_and_wait(g);
        EXPECT_TRUE(are_live("streams", streams + 1));
    }
    EXPECT_TRUE(eventually([&] { return are_live("streams", streams); }));
}

std::atomic<int> unhandled{0};

// contract: C3
TEST_F(library_graph_runs, an_exception_goes_to_the_handler_and_the_graph_goes_on) {
    unhandled = 0;
    set_unhandled_exception_handler([](std::exception_ptr) noexcept { ++unhandled; });
    std::atomic<int> ran{0};
    graph_builder b = built([&](graph_builder& to) {
        to.callback([] { throw std::runtime_error("on purpose"); });
        to.callback([&ran] { ++ran; });
        to.callback([&ran] {
            if (ran % 2 == 0) throw 42;
        });
    });
    graph g = b.complete();
    launch_and_wait(g, 10);
    EXPECT_EQ(ran, 10);
    EXPECT_EQ(unhandled, 15);
    EXPECT_EQ(graph_raised(), 15u);
    EXPECT_EQ(graph_ran(), 15u);
}

// contract: section 5
TEST_F(library_graph_runs, the_counters_tell_of_functions_that_graphs_hold_and_of_their_runs) {
    graph_builder b = built([](graph_builder& to) {
        to.callback([] {});
        to.callback([p = std::make_unique<int>(1)] { (void)*p; });
    });
    EXPECT_EQ(held(), 2u);
    graph g = b.complete();
    launch_and_wait(g, 5);
    EXPECT_EQ(held(), 2u);
    EXPECT_EQ(graph_ran(), 10u);
    EXPECT_EQ(graph_raised(), 0u);
    EXPECT_EQ(accepted(), 0u);  // they are no launches of their own
    EXPECT_EQ(ran(), 0u);
    b.close();
    EXPECT_EQ(held(), 2u);
    g.close();
    EXPECT_TRUE(eventually([] { return stats().graph_callbacks == 0; }));
}

TEST_F(library_graph_runs, moving_a_builder_or_graph_over_another_closes_the_other) {
    fate& first = make_fate();
    fate& second = make_fate();
    graph_builder a = built([&](graph_builder& to) { to.callback(watched(first)); });
    graph_builder b = built([&](graph_builder& to) { to.callback(watched(second)); });
    graph of_a = a.complete();
    graph of_b = b.complete();
    a = std::move(b);
    of_a = std::move(of_b);
    EXPECT_TRUE(is_gone(first));
    launch_and_wait(of_a);
    graph again = a.complete();
    EXPECT_EQ(second.ran, 1);
    EXPECT_EQ(first.ran, 0);
}

// contract: B1, E3
TEST_F(library_graph_runs, calls_inside_a_function_are_refused_and_closing_comes_after_it) {
    std::atomic<int> launch_code{0};
    std::atomic<int> add_code{0};
    fate& f = make_fate();
    std::optional<graph> g;
    graph_builder building(*s2_);
    building.begin_building();
    graph_builder b = built([&](graph_builder& to) {
        to.callback([&] {
            launch_code = code_thrown_by([&] { g->launch(*s_); });
            add_code = code_thrown_by([&] { building.callback([] {}); });
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
}  // namespace hostlaunch::test
