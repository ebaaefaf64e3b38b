// SPDX-License-Identifier: Apache-2.0
// The default streams: the legacy one orders itself against blocking streams, the per-thread one is
// each thread's own. Streams are held by a value, since a held function would hold them all.
#include "contract/scene.hpp"

namespace hostlaunch::contract {
namespace {

using default_streams = driver_test;

TEST_F(default_streams, null_and_the_legacy_token_are_one_stream) {
    journal& book = keep<journal>();
    const value_gate& g = make_value_gate();
    ASSERT_EQ(g.hold(nullptr), success);
    ASSERT_EQ(launch(nullptr, book, 0), success);
    ASSERT_EQ(launch(stream_legacy, book, 1), success);
    EXPECT_EQ(api().stream_query(stream_legacy), error_not_ready);
    g.release();
    ASSERT_EQ(api().stream_synchronize(stream_legacy), success);
    EXPECT_EQ(book.written(), (std::vector<int>{0, 1}));
}

TEST_F(default_streams, the_legacy_stream_waits_for_blocking_streams) {
    const stream s = make_stream(stream_default);
    journal& book = keep<journal>();
    const value_gate& g = make_value_gate();
    ASSERT_EQ(g.hold(s), success);
    ASSERT_EQ(launch(s, book, 0), success);
    ASSERT_EQ(launch(nullptr, book, 1), success);
    g.release();
    ASSERT_EQ(api().stream_synchronize(nullptr), success);
    EXPECT_EQ(book.written(), (std::vector<int>{0, 1}));
}

TEST_F(default_streams, blocking_streams_wait_for_the_legacy_stream) {
    const stream s = make_stream(stream_default);
    journal& book = keep<journal>();
    const value_gate& g = make_value_gate();
    ASSERT_EQ(g.hold(nullptr), success);
    ASSERT_EQ(launch(nullptr, book, 0), success);
    ASSERT_EQ(launch(s, book, 1), success);
    g.release();
    ASSERT_EQ(api().stream_synchronize(s), success);
    EXPECT_EQ(book.written(), (std::vector<int>{0, 1}));
}

TEST_F(default_streams, non_blocking_streams_and_the_legacy_stream_ignore_each_other) {
    const stream s = make_stream(stream_non_blocking);
    std::atomic<int>& ran = make_counter();
    const value_gate& g = make_value_gate();
    ASSERT_EQ(g.hold(s), success);
    ASSERT_EQ(launch(nullptr, ran), success);
    call& sync = elsewhere([] { return api().stream_synchronize(nullptr); });
    EXPECT_TRUE(sync.returns());
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(api().stream_query(s), error_not_ready);
    g.release();
}

TEST_F(default_streams, the_per_thread_streams_of_two_threads_are_two) {
    std::atomic<int>& ran = make_counter();
    const value_gate& g = make_value_gate();
    ASSERT_EQ(g.hold(stream_per_thread), success);
    ASSERT_EQ(launch(stream_per_thread, ran), success);
    call& other = elsewhere([&ran] {
        const result code = launch(stream_per_thread, ran);
        return code != success ? code : api().stream_synchronize(stream_per_thread);
    });
    EXPECT_TRUE(other.returns());
    EXPECT_EQ(ran, 1);
    g.release();
    ASSERT_EQ(api().stream_synchronize(stream_per_thread), success);
    EXPECT_EQ(ran, 2);
}

TEST_F(default_streams, the_per_thread_stream_and_the_legacy_stream_wait_for_each_other) {
    journal& book = keep<journal>();
    const value_gate& g = make_value_gate();
    ASSERT_EQ(g.hold(stream_per_thread), success);
    ASSERT_EQ(launch(stream_per_thread, book, 0), success);
    ASSERT_EQ(launch(nullptr, book, 1), success);
    ASSERT_EQ(launch(stream_per_thread, book, 2), success);
    g.release();
    ASSERT_EQ(api().stream_synchronize(stream_per_thread), success);
    EXPECT_EQ(book.written(), (std::vector<int>{0, 1, 2}));
}

}  // namespace
}  // namespace hostlaunch::contract
