// SPDX-License-Identifier: Apache-2.0
// Builders and graphs used by several threads at once, and from inside host functions.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <thread>

#include "surface/graph_fixture.hpp"

namespace hostlaunch::test {
namespace {

class graph_threads : public on_graphs {
  protected:
    template <class F>
    void on_threads(int count, F&& f) {
        std::vector<std::thread> threads;
        for (int t = 0; t < count; ++t)
            threads.emplace_back([&f, t] { f(t); });
        for (std::thread& t : threads)
            t.join();
    }
};

// contract: B1
TEST_F(graph_threads, two_threads_add_to_one_builder_at_once) {
    constexpr int each = 200;
    std::atomic<int> sum{0};
    std::vector<std::vector<int>> seen(2);
    graph_builder b(*s_);
    b.begin_building();
    on_threads(2, [&](int t) {
        auto& mine = seen.at(static_cast<std::size_t>(t));
        for (int i = 0; i < each; ++i) {
            b.callback([&mine, &sum, i] {
                mine.push_back(i);
                ++sum;
            });
        }
    });
    b.end_building();
    graph g = b.complete();
    launch_and_wait(g, 2);
    EXPECT_EQ(sum, 4 * each);
    for (const std::vector<int>& mine : seen) {
        ASSERT_EQ(mine.size(), std::size_t{2 * each});
        for (int i = 0; i < 2 * each; ++i)
            ASSERT_EQ(mine[static_cast<std::size_t>(i)], i % each);
    }
}

// contract: B3
TEST_F(graph_threads, launches_of_one_graph_by_many_threads_run_one_after_the_other) {
    constexpr int each = 100;
    std::atomic<int> inside{0};
    std::atomic<int> overlaps{0};
    int unguarded = 0;  // written by one function at a time, and never beside another
    hostlaunch_embedded_set_threads(hostlaunch_embedded_threads_per_stream);
    graph_builder b = built([&](graph_builder& to) {
        to.callback([&] {
            overlaps += inside.fetch_add(1);
            ++unguarded;
            --inside;
        });
    });
    graph g = b.complete();
    on_threads(4, [&](int) {
        stream own;
        for (int i = 0; i < each; ++i)
            g.launch(own);
        own.sync();
    });
    EXPECT_EQ(overlaps, 0);
    EXPECT_EQ(unguarded, 4 * each);
}

// contract: B6
TEST_F(graph_threads, a_graph_is_launched_updated_completed_anew_and_closed_all_at_once) {
    for (int round = 0; round < 20; ++round) {
        std::atomic<int> launched{0};
        std::atomic<int> runs{0};
        const std::array fates{&make_fate(), &make_fate()};
        const auto function = [&runs](fate& f) {
            return [&runs, w = watched(f)] {
                ++runs;
                w();
            };
        };
        graph_node node;
        graph_builder b =
            built([&](graph_builder& to) { node = to.callback(function(*fates[0])); });
        graph g = b.complete();
        std::atomic<int> replacements{0};
        const auto until_closed = [](auto call) {
            try {
                for (;;)
                    call();
            } catch (const error& e) {
                EXPECT_EQ(e.code(), static_cast<int>(misuse::closed)) << e.what();
            }
        };
        std::thread launches([&] {
            stream own;
            until_closed([&] {
                g.launch(own);
                ++launched;
            });
            own.sync();
        });
        std::thread updates([&] {
            until_closed([&] {
                g.update_callback(node, function(*fates[1]));
                ++replacements;
            });
        });
        std::thread more([&] {
            for (int i = 0; i < 10; ++i) {
                graph another = b.complete();
                g.update(b);
            }
        });
        more.join();
        EXPECT_TRUE(eventually([&] { return launched > 3 && replacements > 1; }));
        g.close();
        launches.join();
        updates.join();
        b.close();
        EXPECT_EQ(runs, launched);
        // The last replacement was refused, and destroyed like those before.
        EXPECT_TRUE(eventually([&] { return fates[1]->destroyed == replacements + 1; }));
        EXPECT_TRUE(is_gone(*fates[0]));
    }
}

// contract: B1
TEST_F(graph_threads, a_builder_is_closed_while_another_thread_adds) {
    for (int round = 0; round < 50; ++round) {
        fate& f = make_fate();
        std::atomic<int> attempts{0};
        std::optional<stream> captured(std::in_place);
        graph_builder b(*captured);
        b.begin_building();
        std::thread adds([&] {
            try {
                for (;;) {
                    ++attempts;
                    b.callback(watched(f));
                }
            } catch (const error& e) {
                EXPECT_EQ(e.code(), static_cast<int>(misuse::closed)) << e.what();
            }
        });
        EXPECT_TRUE(eventually([&] { return attempts > 2; }));
        captured.reset();
        b.close();
        adds.join();
        EXPECT_TRUE(eventually([&] { return f.destroyed == attempts; }));
        EXPECT_EQ(f.ran, 0);
    }
}

// The capture ends, and its graph dies, while the driver is about to refuse the node.
// contract: B5
TEST_F(graph_threads, a_graph_that_dies_while_a_node_is_refused_releases_the_function_once) {
    fate& f = make_fate();
    graph_builder b(*s_);
    b.begin_building();
    hostlaunch_embedded_hold("cuLaunchHostFunc");
    hostlaunch_embedded_fail_call("cuLaunchHostFunc", 1, abi::error_out_of_memory);
    std::thread adding([&] {
        EXPECT_EQ(code_thrown_by([&] { b.callback(watched(f)); }), abi::error_out_of_memory);
    });
    EXPECT_EQ(hostlaunch_embedded_wait_held("cuLaunchHostFunc", 1, patience_ms), 1);
    EXPECT_EQ(embedded::cuGraphDestroy(end_raw(*s_)), 0);
    EXPECT_TRUE(is_gone(f));
    hostlaunch_embedded_release("cuLaunchHostFunc");
    adding.join();
    let_everything_go();
    EXPECT_EQ(f.destroyed, 1);
    EXPECT_EQ(f.ran, 0);
}

struct objects {
    stream& s;
    graph_builder& building;
    graph_builder& done;
    graph& g;
    graph_node node;
};

const std::pair<const char*, std::function<void(objects&)>> refused_calls[] = {
    {"graph_builder()", [](objects& o) { graph_builder b(o.s); }},
    {"attach", [](objects& o) { (void)graph_builder::attach(o.s); }},
    {"begin_building", [](objects& o) { o.building.begin_building(); }},
    {"end_building", [](objects& o) { o.building.end_building(); }},
    {"callback", [](objects& o) { o.building.callback([p = std::make_unique<int>(1)] {}); }},
    {"host_launch", [](objects& o) { host_launch(o.building, [] {}); }},
    {"is_building", [](objects& o) { (void)o.building.is_building(); }},
    {"complete", [](objects& o) { (void)o.done.complete(); }},
    {"upload", [](objects& o) { o.g.upload(o.s); }},
    {"launch", [](objects& o) { o.g.launch(o.s); }},
    {"update", [](objects& o) { o.g.update(o.done); }},
    {"update_callback",
     [](objects& o) { o.g.update_callback(o.node, [p = std::make_unique<int>(1)] {}); }},
};

// contract: E3
TEST_F(graph_threads, inside_host_functions_calls_that_would_enter_the_driver_are_refused) {
    objects* all = nullptr;
    const auto call_all = [&all] {
        for (const auto& [name, call] : refused_calls) {
            SCOPED_TRACE(name);
            expect_misuse(misuse::in_host_function, [&] { call(*all); });
        }
    };
    graph_node node;
    graph_builder done = built([&](graph_builder& to) { node = to.callback(call_all); });
    graph g = done.complete();
    graph_builder building(*s2_);
    building.begin_building();
    objects given{*s_, building, done, g, node};
    all = &given;
    launch_and_wait(g);
    host_launch(*s_, call_all);
    s_->sync();
    EXPECT_EQ(graph_ran(), 1u);
    EXPECT_EQ(graph_raised(), 0u);
    EXPECT_EQ(ran(), 1u);
    EXPECT_TRUE(building.is_building());
}

// contract: E3, L2
TEST_F(graph_threads, what_is_closed_inside_a_host_function_ends_soon_after_it) {
    fate& unbuilt = make_fate();
    fate& launched = make_fate();
    hostlaunch_embedded_set_log(1);
    auto building = std::make_unique<graph_builder>(*s2_);
    building->begin_building();
    building->callback(watched(unbuilt));
    auto done = std::make_unique<graph_builder>(
        built([&](graph_builder& to) { to.callback(watched(launched)); }));
    auto g = std::make_unique<graph>(done->complete());
    launch_and_wait(*g);
    host_launch(*s_, [&] {
        building.reset();
        done.reset();
        g.reset();
    });
    s_->sync();
    EXPECT_TRUE(is_gone(unbuilt));
    EXPECT_TRUE(is_gone(launched));
    EXPECT_TRUE(eventually([this] { return capture_of(*s2_) == abi::capture_status::none; }));
    EXPECT_TRUE(eventually([] { return hostlaunch_embedded_live("graph_execs") == 0; }));
    EXPECT_EQ(hostlaunch_embedded_live("graphs"), 0);
    hostlaunch_embedded_call call{};
    for (int i = 0; hostlaunch_embedded_log_get(i, &call) == 0; ++i)
        EXPECT_EQ(call.in_host_function, 0) << call.entry;
}

// A graph function may close its own graph: it is in flight then.
// contract: B2
TEST_F(graph_threads, a_function_closes_the_graph_that_runs_it) {
    fate& f = make_fate();
    std::optional<graph> g;
    graph_builder b = built([&](graph_builder& to) {
        to.callback([&g] { g->close(); });
        to.callback(watched(f));
    });
    g.emplace(b.complete());
    b.close();
    g->launch(*s_);
    s_->sync();
    EXPECT_TRUE(is_gone(f));
    EXPECT_EQ(f.ran, 1);
}

// contract: B2
TEST_F(graph_threads, ten_thousand_graphs_leave_nothing_behind) {
    constexpr int rounds = 10'000;
    const std::vector<std::int64_t> before = live();
    fate& f = make_fate();
    for (int i = 0; i < rounds; ++i) {
        graph_builder b = built([&f](graph_builder& to) { to.callback(watched(f)); });
        graph g = b.complete();
        g.launch(*s_);
        if (i % 100 != 0) continue;
        s_->sync();
        b.close();
        g.close();
        EXPECT_TRUE(eventually([] { return stats().graph_callbacks == 0; }));
        EXPECT_EQ(hostlaunch_embedded_wait_idle(patience_ms), 0);
        ASSERT_EQ(live(), before);
    }
    s_->sync();
    EXPECT_EQ(f.ran, rounds);
    EXPECT_TRUE(eventually([&f] { return f.destroyed == rounds; }));
}

}  // namespace
}  // namespace hostlaunch::test
