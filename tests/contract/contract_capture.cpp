// SPDX-License-Identifier: Apache-2.0
// Stream capture: what a launch finds, what invalidates a capture, and what leaves it alone.
#include "contract/scene.hpp"

namespace hostlaunch::contract {
namespace {

class captures : public driver_test {
  protected:
    static capture_status status_of(stream s) {
        capture_status status{};
        EXPECT_EQ(api().stream_is_capturing(s, &status), success);
        return status;
    }
    static void begin(stream s, capture_mode mode = capture_mode::relaxed) {
        ASSERT_EQ(api().stream_begin_capture(s, mode), success);
        ASSERT_EQ(status_of(s), capture_status::active);
    }
    // Ends a valid capture; how many nodes it recorded.
    static std::size_t end(stream s) {
        graph g = nullptr;
        std::size_t count = 0;
        EXPECT_EQ(api().stream_end_capture(s, &g), success);
        if (g == nullptr) return 0;
        EXPECT_EQ(api().graph_get_nodes(g, nullptr, &count), success);
        EXPECT_EQ(api().graph_destroy(g), success);
        EXPECT_EQ(status_of(s), capture_status::none);
        return count;
    }
    // Ends a capture that cannot succeed, with this code if one is given.
    static void end_in_vain(stream s, result code = -1) {
        graph g = nullptr;
        const result ended = api().stream_end_capture(s, &g);
        EXPECT_NE(ended, success);
        EXPECT_TRUE(code < 0 || ended == code) << ended;
        EXPECT_EQ(g, nullptr);
    }
    void expect_works(stream s) {
        std::atomic<int>& ran = make_counter();
        EXPECT_EQ(status_of(s), capture_status::none);
        EXPECT_EQ(launch(s, ran), success);
        EXPECT_EQ(api().stream_synchronize(s), success);
        EXPECT_EQ(ran, 1);
    }
    void expect_invalidated(stream s) {
        std::atomic<int>& ran = make_counter();
        EXPECT_EQ(status_of(s), capture_status::invalidated);
        EXPECT_EQ(launch(s, ran), error_stream_capture_invalidated);
        end_in_vain(s, error_stream_capture_invalidated);
        expect_works(s);
        EXPECT_EQ(ran, 0);
    }
    // Queries an event on another thread, which is in this capture mode.
    result query_elsewhere(event e, capture_mode mode) {
        return elsewhere([e, mode] {
                   capture_mode swapped = mode;
                   EXPECT_EQ(api().thread_exchange_capture_mode(&swapped), success);
                   return api().event_query(e);
               })
            .answer();
    }
};

TEST_F(captures, a_stream_that_does_not_capture_says_so) {
    for (const stream s : {make_stream(), stream{nullptr}, stream_legacy, stream_per_thread}) {
        EXPECT_EQ(status_of(s), capture_status::none);
    }
}

// contract: S5
TEST_F(captures, a_launch_on_a_capturing_stream_is_recorded_and_not_run) {
    const stream s = make_stream();
    std::atomic<int>& ran = make_counter();
    begin(s);
    EXPECT_EQ(launch(s, ran), success);
    EXPECT_EQ(launch(s, ran), success);
    EXPECT_EQ(end(s), 2u);
    expect_works(s);
    EXPECT_EQ(ran, 0);
}

TEST_F(captures, memory_operations_are_recorded) {
    const stream s = make_stream();
    const device_ptr memory = make_memory(64);
    const device_ptr other = make_memory(64);
    begin(s);
    EXPECT_EQ(api().memset_d8_async(memory, 1, 64, s), success);
    EXPECT_EQ(api().memcpy_async(other, memory, 64, s), success);
    EXPECT_EQ(end(s), 2u);
}

// contract: S5
TEST_F(captures, a_query_of_the_legacy_stream_tells_of_a_blocking_capture_and_leaves_it_alone) {
    const stream s = make_stream(stream_default);
    begin(s);
    capture_status status{};
    EXPECT_EQ(api().stream_is_capturing(nullptr, &status), error_stream_capture_implicit);
    EXPECT_EQ(api().stream_is_capturing(stream_legacy, &status), error_stream_capture_implicit);
    EXPECT_EQ(status_of(s), capture_status::active);
    EXPECT_EQ(end(s), 0u);
    EXPECT_EQ(status_of(nullptr), capture_status::none);
}

// contract: S5
TEST_F(captures, a_launch_on_the_legacy_stream_invalidates_a_blocking_capture) {
    const stream s = make_stream(stream_default);
    std::atomic<int>& ran = make_counter();
    begin(s);
    EXPECT_EQ(launch(nullptr, ran), error_stream_capture_implicit);
    expect_invalidated(s);
    EXPECT_EQ(ran, 0);
}

TEST_F(captures, a_non_blocking_capture_leaves_the_legacy_stream_alone) {
    const stream s = make_stream(stream_non_blocking);
    std::atomic<int>& ran = make_counter();
    begin(s);
    EXPECT_EQ(status_of(nullptr), capture_status::none);
    EXPECT_EQ(launch(nullptr, ran), success);
    EXPECT_EQ(api().stream_synchronize(nullptr), success);
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(end(s), 0u);
}

// contract: G4
TEST_F(captures, an_event_query_elsewhere_invalidates_a_global_capture) {
    const stream s = make_stream();
    const event never_recorded = make_event();
    begin(s, capture_mode::global);
    EXPECT_EQ(query_elsewhere(never_recorded, capture_mode::global),
              error_stream_capture_unsupported);
    expect_invalidated(s);
}

// contract: G4
TEST_F(captures, an_event_query_in_relaxed_mode_leaves_a_global_capture_alone) {
    const stream s = make_stream();
    const event never_recorded = make_event();
    std::atomic<int>& ran = make_counter();
    begin(s, capture_mode::global);
    EXPECT_EQ(query_elsewhere(never_recorded, capture_mode::relaxed), success);
    EXPECT_EQ(launch(s, ran), success);
    EXPECT_EQ(end(s), 1u);
}

// contract: G4
TEST_F(captures, questions_about_another_stream_leave_a_global_capture_alone) {
    const stream s = make_stream();
    const stream others[] = {make_stream(stream_default), make_stream(stream_non_blocking)};
    begin(s, capture_mode::global);
    for (const stream other : others) {
        context its = nullptr;
        auto status = capture_status::active;
        EXPECT_EQ(api().stream_get_ctx(other, &its), success);
        EXPECT_EQ(its, ctx_);
        EXPECT_EQ(api().stream_is_capturing(other, &status), success);
        EXPECT_EQ(status, capture_status::none);
    }
    EXPECT_EQ(end(s), 0u);
}

TEST_F(captures, an_event_query_elsewhere_leaves_a_relaxed_capture_alone) {
    const stream s = make_stream();
    const event never_recorded = make_event();
    begin(s, capture_mode::relaxed);
    EXPECT_EQ(query_elsewhere(never_recorded, capture_mode::global), success);
    EXPECT_EQ(end(s), 0u);
}

TEST_F(captures, one_that_another_thread_ends_ends_without_a_graph_unless_it_is_relaxed) {
    const stream s = make_stream();
    graph g = nullptr;
    const auto ends = [s, &g] { return api().stream_end_capture(s, &g); };
    for (const capture_mode mode : {capture_mode::global, capture_mode::thread_local_mode}) {
        begin(s, mode);
        g = reinterpret_cast<graph>(1);
        EXPECT_EQ(elsewhere(ends).answer(), error_stream_capture_wrong_thread);
        EXPECT_EQ(g, nullptr);
        EXPECT_EQ(elsewhere([s] {
                      EXPECT_EQ(status_of(s), capture_status::none);
                      return success;
                  }).answer(),
                  success);
        EXPECT_EQ(ends(), error_illegal_state);
        expect_works(s);
    }
    begin(s, capture_mode::relaxed);
    EXPECT_EQ(elsewhere(ends).answer(), success);
    EXPECT_EQ(api().graph_destroy(g), success);
    expect_works(s);
}

TEST_F(captures, an_event_joins_a_second_stream_to_the_capture) {
    const stream origin = make_stream();
    const stream branch = make_stream();
    const event fork = make_event();
    const event join = make_event();
    std::atomic<int>& ran = make_counter();
    begin(origin);
    ASSERT_EQ(launch(origin, ran), success);
    ASSERT_EQ(api().event_record(fork, origin), success);
    ASSERT_EQ(api().stream_wait_event(branch, fork, 0), success);
    EXPECT_EQ(status_of(branch), capture_status::active);
    ASSERT_EQ(launch(branch, ran), success);
    ASSERT_EQ(api().event_record(join, branch), success);
    ASSERT_EQ(api().stream_wait_event(origin, join, 0), success);
    EXPECT_EQ(end(origin), 2u);
    expect_works(branch);
    EXPECT_EQ(ran, 0);
}

TEST_F(captures, a_branch_that_is_not_joined_ends_the_capture_without_a_graph) {
    const stream origin = make_stream();
    const stream branch = make_stream();
    const event fork = make_event();
    std::atomic<int>& ran = make_counter();
    begin(origin);
    ASSERT_EQ(api().event_record(fork, origin), success);
    ASSERT_EQ(api().stream_wait_event(branch, fork, 0), success);
    ASSERT_EQ(launch(branch, ran), success);
    end_in_vain(origin, error_stream_capture_unjoined);
    expect_works(origin);
    expect_works(branch);
    EXPECT_EQ(ran, 0);
}

TEST_F(captures, an_event_of_another_capture_would_merge_the_two) {
    const stream first = make_stream();
    const stream second = make_stream();
    const event e = make_event();
    begin(first);
    begin(second);
    ASSERT_EQ(api().event_record(e, first), success);
    EXPECT_EQ(api().stream_wait_event(second, e, 0), error_stream_capture_merge);
    end_in_vain(second, error_stream_capture_invalidated);
    graph g = nullptr;
    api().stream_end_capture(first, &g);  // whether the other capture survived is not promised
    if (g != nullptr) api().graph_destroy(g);
    expect_works(first);
    expect_works(second);
}

TEST_F(captures, an_event_from_outside_would_break_the_isolation) {
    const stream s = make_stream();
    const event e = make_event();
    ASSERT_EQ(api().event_record(e, make_stream()), success);
    begin(s);
    EXPECT_EQ(api().stream_wait_event(s, e, 0), error_stream_capture_isolation);
    expect_invalidated(s);
}

TEST_F(captures, synchronising_a_capturing_stream_is_refused_and_invalidates) {
    const stream s = make_stream();
    begin(s);
    EXPECT_EQ(api().stream_synchronize(s), error_stream_capture_unsupported);
    expect_invalidated(s);
}

TEST_F(captures, the_legacy_stream_cannot_capture_and_the_per_thread_one_can) {
    std::atomic<int>& ran = make_counter();
    EXPECT_EQ(api().stream_begin_capture(stream_legacy, capture_mode::relaxed),
              error_stream_capture_unsupported);
    begin(stream_per_thread);
    EXPECT_EQ(launch(stream_per_thread, ran), success);
    EXPECT_EQ(end(stream_per_thread), 1u);
    EXPECT_EQ(ran, 0);
}

TEST_F(captures, work_before_a_capture_is_not_part_of_it_and_still_runs) {
    const stream s = make_stream();
    std::atomic<int>& before = make_counter();
    std::atomic<int>& during = make_counter();
    blocker& g = hold(s);
    ASSERT_EQ(launch(s, before), success);
    begin(s);
    EXPECT_EQ(launch(s, during), success);
    EXPECT_EQ(end(s), 1u);
    g.let_go();
    expect_works(s);
    EXPECT_EQ(before, 1);
    EXPECT_EQ(during, 0);
}

}  // namespace
}  // namespace hostlaunch::contract
