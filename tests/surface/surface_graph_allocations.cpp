// SPDX-License-Identifier: Apache-2.0
// Memory runs out at each allocation of each call of builders and graphs: the call fails, leaves
// nothing, and works when it is made again.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <new>

#include "surface/allocations.hpp"
#include "surface/graph_fixture.hpp"

namespace hostlaunch::test {
namespace {

class out_of_memory : public on_graphs {
  protected:
    void SetUp() override {
        on_graphs::SetUp();
        find_driver_code();
    }

    // True if `call` failed for want of memory at its nth allocation.
    static bool fails_at(int nth, const std::function<void()>& call) {
        bool failed = false;
        allocations_until_failure = nth;
        try {
            call();
        } catch (const std::bad_alloc&) {
            failed = true;
        } catch (const error& e) {
            EXPECT_EQ(e.code(), abi::error_out_of_memory) << e.what();
            failed = true;
        }
        const bool reached = allocations_until_failure == 0;
        allocations_until_failure = 0;
        EXPECT_EQ(failed, reached);
        return failed;
    }

    // Lets `call` fail at each of its allocations; the last one of a round succeeds. `then` sees
    // that all is well, and lets everything go.
    static void fail_each(const std::function<void()>& prepare, const std::function<void()>& call,
                          const std::function<void()>& then) {
        bool failed = true;
        for (int nth = 1; failed; ++nth) {
            SCOPED_TRACE(nth);
            ASSERT_LT(nth, 100);
            prepare();
            failed = fails_at(nth, call);
            if (failed) call();
            then();
            EXPECT_TRUE(eventually([] { return stats().graph_callbacks == 0; }));
        }
    }
};

// contract: B5
TEST_F(out_of_memory, while_a_graph_is_built_leaves_nothing_behind) {
    fate& f = make_fate();
    std::optional<graph_builder> b;
    std::optional<graph> g;
    std::optional<stream> captured;
    const std::int64_t streams = hostlaunch_embedded_live("streams");
    const auto finish = [&] {
        if (b->is_building()) b->end_building();
        g.emplace(b->complete());
        g->launch(*s_);
        s_->sync();
        b.reset();
        g.reset();
        captured.reset();
        EXPECT_EQ(hostlaunch_embedded_live("streams"), streams);
    };
    const auto make_stream = [&] { captured.emplace(); };
    const auto make_builder = [&] {
        make_stream();
        b.emplace(*captured);
    };
    const auto begin = [&] { b->begin_building(); };
    fail_each(make_stream, [&] { b.emplace(*captured); }, [&] { begin(), finish(); });
    fail_each(make_builder, begin, finish);
    // A callback's own allocation, growth of what the builder remembers, and neither.
    const auto add = [&] {
        b->callback([w = watched(f), bulk = std::array<char, 100>()] { w(); });
    };
    fail_each([&] { make_builder(), begin(); }, add, finish);
    const auto end = [&] { b->end_building(); };
    fail_each([&] { make_builder(), begin(), add(); }, end, finish);
    const auto complete = [&] { g.emplace(b->complete()); };
    fail_each([&] { make_builder(), begin(), add(), end(); }, complete, finish);
    EXPECT_GT(f.ran, 0);
}

// contract: B4, B5
TEST_F(out_of_memory, while_a_capture_is_adopted_leaves_it_alone_and_frees_the_stream) {
    std::optional<stream> captured;
    std::optional<graph_builder> b;
    const std::int64_t streams = hostlaunch_embedded_live("streams");
    const auto prepare = [&] {
        captured.emplace();
        begin_raw(*captured);
    };
    const auto attach = [&] { b.emplace(graph_builder::attach(*captured)); };
    fail_each(prepare, attach, [&] {
        b->callback([] {});
        EXPECT_EQ(embedded::cuGraphDestroy(end_raw(*captured)), 0);
        captured.reset();
        EXPECT_EQ(hostlaunch_embedded_live("streams"), streams + 1);  // the builder's
        b.reset();
        EXPECT_EQ(hostlaunch_embedded_live("streams"), streams);
    });
}

// contract: B5, B6
TEST_F(out_of_memory, while_a_graph_is_updated_changes_nothing) {
    fate& old = make_fate();
    fate& fresh = make_fate();
    graph_node node;
    std::optional<graph_builder> b;
    std::optional<graph> g;
    int expected_ends = 0;
    const auto prepare = [&] {
        b.emplace(built([&](graph_builder& to) { node = to.callback(watched(old)); }));
        g.emplace(b->complete());
    };
    const auto update = [&] {
        ++expected_ends;
        g->update_callback(node, watched(fresh));
    };
    const auto finish = [&] {
        const int ran = fresh.ran;
        launch_and_wait(*g);
        EXPECT_EQ(fresh.ran, ran + 1);
        b.reset();
        g.reset();
        EXPECT_EQ(hostlaunch_embedded_live("graphs"), 0);
        EXPECT_EQ(hostlaunch_embedded_live("graph_execs"), 0);
    };
    fail_each(prepare, update, finish);
    EXPECT_TRUE(eventually([&] { return fresh.destroyed == expected_ends; }));
    EXPECT_EQ(old.ran, 0);
    fail_each(prepare, [&] { g->update(*b); }, [&] { update(), finish(); });
}

}  // namespace
}  // namespace hostlaunch::test
