// SPDX-License-Identifier: Apache-2.0
// Each driver call of builders and graphs fails in turn: one clear error, each function destroyed
// exactly once, nothing left, and the next attempt works.
#include <utility>

#include "core/graph_failing.hpp"

namespace hostlaunch::core {
namespace {

using graph_failures = graph_failing;

// contract: B5
TEST_F(graph_failures, of_beginning_leave_no_capture) {
    trial t;
    t.prepare = [&] { ASSERT_TRUE(graph_builder::create(stream_, builder_).ok()); };
    t.attempt = [&] { return builder_->begin(abi::capture_mode::global); };
    t.check = [&](bool began) {
        if (!began) {
            EXPECT_EQ(capture_of_stream(), abi::capture_status::none);
            ASSERT_TRUE(t.attempt().ok());
        }
        ASSERT_TRUE(add(*builder_, old_).ok());
        end_and_launch();
        EXPECT_EQ(old_.ran, 1);
    };
    fail_each(t, {});
}

// contract: B4, B5
TEST_F(graph_failures, of_attaching_leave_the_capture_alone) {
    trial t;
    t.prepare = [&] {
        ASSERT_EQ(embedded::cuStreamBeginCapture_v2(stream_->raw(), abi::capture_mode::global), 0);
    };
    t.attempt = [&] { return graph_builder::attach(stream_->target(), nullptr, builder_); };
    t.check = [&](bool attached) {
        abi::graph made = nullptr;
        if (!attached) {
            EXPECT_EQ(builder_, nullptr);
            ASSERT_TRUE(t.attempt().ok());
        }
        ASSERT_TRUE(add(*builder_, old_).ok());
        builder_.reset();
        EXPECT_EQ(embedded::cuStreamEndCapture(stream_->raw(), &made), 0);
        EXPECT_EQ(embedded::cuGraphDestroy(made), 0);
    };
    fail_each(t, {});
}

// A node that the driver does not tell is in the graph all the same; only its updates are refused.
// contract: B5
TEST_F(graph_failures, of_adding_leave_no_function_behind) {
    trial t;
    t.prepare = [&] { begin(builder_); };
    t.attempt = [&] { return add(*builder_, old_); };
    t.check = [&](bool added) {
        EXPECT_EQ(old_.destroyed, added ? 0 : 1);
        ASSERT_TRUE(add(*builder_, fresh_).ok());
        end_and_launch();
        EXPECT_EQ(old_.ran, added ? 1 : 0);
        EXPECT_EQ(fresh_.ran, 1);
    };
    calls survived = restores;
    survived["cuStreamGetCaptureInfo"] = 2;  // which node it is stays unknown then
    survived["cuGraphHostNodeGetParams"] = 1;
    fail_each(t, survived);
}

// contract: B5
TEST_F(graph_failures, of_learning_the_node_refuse_its_updates) {
    begin(builder_);
    ASSERT_EQ(hostlaunch_embedded_fail_call("cuStreamGetCaptureInfo", 2, injected), 0);
    ASSERT_TRUE(add(*builder_, old_).ok());
    end_and_launch();
    EXPECT_EQ(replace(fresh_).code, static_cast<int>(misuse::foreign_node));
    EXPECT_EQ(fresh_.destroyed, 1);
    launch_and_wait();
    EXPECT_EQ(old_.ran, 2);
    expect_nothing_left();
}

// contract: B5
TEST_F(graph_failures, of_ending_leave_the_capture_to_another_attempt) {
    trial t;
    t.prepare = [&] {
        begin(builder_);
        ASSERT_TRUE(add(*builder_, old_).ok());
    };
    t.attempt = [&] { return builder_->end(); };
    t.check = [&](bool ended) {
        if (!ended) {
            ASSERT_TRUE(t.attempt().ok());
        }
        ASSERT_TRUE(builder_->complete(graph_).ok());
        launch_and_wait();
        EXPECT_EQ(old_.ran, 1);
    };
    fail_each(t, {});
}

// contract: B5
TEST_F(graph_failures, of_completing_leave_no_executable) {
    trial t;
    t.prepare = [&] { build(builder_, old_); };
    t.attempt = [&] { return builder_->complete(graph_); };
    t.check = [&](bool completed) {
        if (!completed) {
            EXPECT_EQ(graph_, nullptr);
            EXPECT_EQ(hostlaunch_embedded_live("graph_execs"), 0);
            ASSERT_TRUE(t.attempt().ok());
        }
        launch_and_wait();
        EXPECT_EQ(old_.ran, 1);
    };
    fail_each(t, restores);
}

// contract: B3, B5
TEST_F(graph_failures, of_launching_and_uploading_run_nothing) {
    trial t;
    t.prepare = [&] { build_graph(old_); };
    t.attempt = [&] { return graph_->launch(stream_->target()); };
    t.check = [&](bool launched) {
        ASSERT_EQ(embedded::cuStreamSynchronize(stream_->raw()), 0);
        EXPECT_EQ(old_.ran, launched ? 1 : 0);
        launch_and_wait();
        EXPECT_EQ(old_.ran, launched ? 2 : 1);
    };
    fail_each(t, {});
    t.attempt = [&] { return graph_->upload(stream_->target()); };
    t.check = [&](bool) {
        launch_and_wait();
        EXPECT_EQ(old_.ran, 1);
    };
    fail_each(t, restores);
}

// contract: B5, B6
TEST_F(graph_failures, of_an_update_from_a_builder_change_nothing) {
    trial t;
    t.prepare = [&] {
        build_graph(old_);
        build(other_, fresh_);
    };
    t.attempt = [&] { return graph_->update(*other_); };
    t.check = [&](bool updated) {
        launch_and_wait();
        EXPECT_EQ(old_.ran, updated ? 0 : 1);
        EXPECT_EQ(fresh_.ran, updated ? 1 : 0);
        ASSERT_TRUE(t.attempt().ok());
        launch_and_wait();
        EXPECT_EQ(fresh_.ran, updated ? 2 : 1);
    };
    fail_each(t, restores);
}

// contract: B5, B6
TEST_F(graph_failures, of_an_update_of_one_function_change_nothing) {
    for (const bool shared : {true, false}) {
        SCOPED_TRACE(shared ? "the builder is open" : "the builder is closed");
        trial t;
        t.prepare = [&] {
            build_graph(old_);
            if (!shared) builder_.reset();
        };
        t.attempt = [&] { return replace(fresh_); };
        t.check = [&](bool updated) {
            settle();
            EXPECT_EQ(fresh_.destroyed, updated ? 0 : 1);
            EXPECT_EQ(old_.destroyed, updated && !shared ? 1 : 0);
            launch_and_wait();
            EXPECT_EQ(old_.ran, updated ? 0 : 1);
            EXPECT_EQ(fresh_.ran, updated ? 1 : 0);
            ASSERT_TRUE(t.attempt().ok());
            settle();
            EXPECT_EQ(fresh_.destroyed, 1);
            launch_and_wait();
            EXPECT_EQ(fresh_.ran, updated ? 2 : 1);
        };
        fail_each(t, restores);
    }
}

// The update fails, and so does each step that undoes it.
// contract: B5, B6
TEST_F(graph_failures, of_undoing_a_failed_update_leave_no_function_that_is_gone) {
    const std::pair<const char*, int> second_failures[] = {{"cuGraphRetainUserObject", 2},
                                                           {"cuGraphHostNodeSetParams", 2},
                                                           {"cuGraphReleaseUserObject", 2}};
    for (const auto& [entry, nth] : second_failures) {
        SCOPED_TRACE(entry);
        reset_counts();
        build_graph(old_);
        builder_.reset();
        ASSERT_EQ(hostlaunch_embedded_fail_call("cuGraphExecUpdate", 1, injected), 0);
        ASSERT_EQ(hostlaunch_embedded_fail_call(entry, nth, injected), 0);
        EXPECT_EQ(replace(fresh_).code, injected);
        hostlaunch_embedded_reset();
        restore_capture_mode();
        launch_and_wait();
        EXPECT_EQ(old_.ran, 1);
        EXPECT_TRUE(replace(fresh_).ok());
        settle();
        launch_and_wait();
        EXPECT_EQ(old_.ran, 1);
        EXPECT_EQ(fresh_.ran, 1);
        graph_.reset();
        settle();
        // What the graph does not take back is kept for good.
        const bool kept = std::string(entry) == "cuGraphRetainUserObject";
        EXPECT_EQ(old_.destroyed, kept ? 0 : 1);
        EXPECT_EQ(fresh_.destroyed, 2);
    }
    before_.user_objects += 1;
}

// Whatever fails, closing neither throws nor takes away what somebody can still use.
// contract: B1
TEST_F(graph_failures, of_closing_while_building_leave_a_capture_that_can_be_ended) {
    for (const char* entry : {"cuCtxGetCurrent", "cuStreamGetCaptureInfo", "cuStreamEndCapture",
                              "cuGraphDestroy", "cuThreadExchangeStreamCaptureMode"}) {
        SCOPED_TRACE(entry);
        reset_counts();
        begin(builder_);
        ASSERT_TRUE(add(*builder_, old_).ok());
        ASSERT_EQ(hostlaunch_embedded_fail_call(entry, 1, injected), 0);
        builder_->close();
        hostlaunch_embedded_reset();
        restore_capture_mode();
        abi::graph made = nullptr;
        if (capture_of_stream() != abi::capture_status::none) {
            EXPECT_EQ(embedded::cuStreamEndCapture(stream_->raw(), &made), 0);
            EXPECT_EQ(embedded::cuGraphDestroy(made), 0);
        }
        builder_.reset();
        settle();
        // The graph that could not be destroyed is the driver's to keep.
        EXPECT_EQ(old_.destroyed, std::string(entry) == "cuGraphDestroy" ? 0 : 1);
        begin(builder_);
        ASSERT_TRUE(add(*builder_, old_).ok());
        end_and_launch();
        builder_.reset();
        graph_.reset();
        settle();
    }
    before_.graphs += 1;
    before_.user_objects += 1;
}

}  // namespace
}  // namespace hostlaunch::core
