// SPDX-License-Identifier: Apache-2.0
// Streams, events and buffers of the C++ library: making, using, moving and closing them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <thread>

#include "contract/library_case.hpp"

namespace hostlaunch::test {
namespace {

using library_objects = with_a_stream<on_any_driver>;

TEST_F(library_objects, a_stream_has_a_handle_and_a_device) {
    EXPECT_NE(s_->handle(), nullptr);
    EXPECT_EQ(s_->device_id(), 0);
    EXPECT_FALSE(s_->is_closed());
    EXPECT_EQ(stream({.device_id = 0, .nonblocking = false}).device_id(), 0);
    EXPECT_EQ(stream::from_handle(s_->handle()).device_id(), 0);
}

// contract: O4
TEST_F(library_objects, making_and_using_them_leaves_no_context_behind) {
    std::thread([] {
        {
            stream s;
            event e = s.record();
            buffer a(16);
            a.fill(std::byte{1}, s);
            s.wait(e);
            s.wait(s);
            s.sync();
            host_launch(s, [] {});
        }
        abi::context now = reinterpret_cast<abi::context>(std::uintptr_t{1});
        EXPECT_EQ(contract::api().ctx_get_current(&now), 0);
        EXPECT_EQ(now, nullptr);
    }).join();
}

// contract: C5
TEST_F(library_objects, an_event_may_be_made_before_there_is_a_stream) {
    event e;
    EXPECT_TRUE(e.is_closed());
    EXPECT_EQ(e.handle(), nullptr);
    e.close();
    expect_misuse(misuse::closed, [&] { e.sync(); });
    expect_misuse(misuse::closed, [&] { (void)e.is_done(); });
    expect_misuse(misuse::closed, [&] { s_->wait(e); });
    s_->record(e);
    EXPECT_FALSE(e.is_closed());
    e.sync();
    EXPECT_TRUE(e.is_done());
    const event moved = std::move(e);
    EXPECT_TRUE(e.is_closed());  // NOLINT(bugprone-use-after-move,clang-analyzer-cplusplus.Move)
    EXPECT_FALSE(moved.is_closed());
    s_->record(e);
    s_->wait(e);
    EXPECT_NE(e.handle(), moved.handle());
}

// contract: C5
TEST_F(library_objects, are_members_of_aggregates_and_elements_of_arrays) {
    struct slot {
        stream s;
        event done;
    };
    std::array<slot, 2> slots{};
    for (slot& each : slots) {
        each.s.record(each.done);
        each.done.sync();
    }
    EXPECT_NE(slots[0].s.handle(), slots[1].s.handle());
}

// contract: S6
TEST_F(library_objects, a_closed_stream_refuses_every_call_and_closes_again) {
    event e = s_->record();
    buffer a(16);
    stream other;
    s_->close();
    s_->close();
    EXPECT_TRUE(s_->is_closed());
    expect_misuse(misuse::closed, [&] { host_launch(*s_, [] {}); });
    expect_misuse(misuse::closed, [&] { host_launch(*s_, +[](void*) {}, nullptr); });
    expect_misuse(misuse::closed,
                  [&] { host_launch(*s_, +[](void*) {}, std::span<const std::byte>()); });
    expect_misuse(misuse::closed, [&] { s_->sync(); });
    expect_misuse(misuse::closed, [&] { (void)s_->record(); });
    expect_misuse(misuse::closed, [&] { s_->record(e); });
    expect_misuse(misuse::closed, [&] { s_->wait(e); });
    expect_misuse(misuse::closed, [&] { s_->wait(other); });
    expect_misuse(misuse::closed, [&] { other.wait(*s_); });
    expect_misuse(misuse::closed, [&] { (void)s_->device_id(); });
    expect_misuse(misuse::closed, [&] { a.fill(std::byte{0}, *s_); });
}

template <class F>
std::string text_thrown_by(F&& f) {
    try {
        f();
    } catch (const error& e) {
        return e.what();
    }
    return "nothing";
}

// contract: S6
TEST_F(library_objects, a_refusal_names_what_is_closed) {
    event e = s_->record();
    event open = s_->record();
    buffer a(16);
    buffer b(16);
    stream other;
    graph_builder builder(other);
    builder.begin_building();
    graph_builder unused(other);
    graph g = builder.end_building().complete();
    e.close();
    b.close();
    unused.close();
    g.close();
    EXPECT_EQ(text_thrown_by([&] { s_->wait(e); }), "stream::wait: the event is closed");
    EXPECT_EQ(text_thrown_by([&] { e.sync(); }), "event::sync: the event is closed");
    EXPECT_EQ(text_thrown_by([&] { b.fill(std::byte{0}, *s_); }),
              "buffer::fill: the buffer is closed");
    EXPECT_EQ(text_thrown_by([&] { a.copy_to(b, *s_); }),
              "buffer::copy_to: the destination buffer is closed");
    EXPECT_EQ(text_thrown_by([&] { a.copy_from(b, *s_); }),
              "buffer::copy_from: the source buffer is closed");
    EXPECT_EQ(text_thrown_by([&] { unused.begin_building(); }),
              "graph_builder::begin_building: the builder is closed");
    EXPECT_EQ(text_thrown_by([&] { g.launch(*s_); }), "graph::launch: the graph is closed");
    s_->close();
    EXPECT_EQ(text_thrown_by([&] { s_->wait(open); }), "stream::wait: the stream is closed");
    EXPECT_EQ(text_thrown_by([&] { other.wait(*s_); }), "stream::wait: the other stream is closed");
    EXPECT_EQ(text_thrown_by([&] { a.fill(std::byte{0}, *s_); }),
              "buffer::fill: the stream is closed");
    EXPECT_EQ(text_thrown_by([&] { graph_builder again(*s_); }),
              "graph_builder(): the stream is closed");
    EXPECT_EQ(text_thrown_by([&] { host_launch(*s_, [] {}); }),
              "host_launch: the stream is closed");
}

// contract: S6
TEST_F(library_objects, closed_events_and_buffers_refuse_every_call) {
    event e = s_->record();
    buffer a(16);
    buffer b(16, buffer_kind::pinned);
    e.close();
    b.close();
    EXPECT_TRUE(e.is_closed());
    EXPECT_TRUE(b.is_closed());
    EXPECT_TRUE(b.bytes().empty());
    expect_misuse(misuse::closed, [&] { e.sync(); });
    expect_misuse(misuse::closed, [&] { (void)e.is_done(); });
    expect_misuse(misuse::closed, [&] { s_->record(e); });
    expect_misuse(misuse::closed, [&] { s_->wait(e); });
    expect_misuse(misuse::closed, [&] { b.fill(std::byte{0}, *s_); });
    expect_misuse(misuse::closed, [&] { a.copy_to(b, *s_); });
    expect_misuse(misuse::closed, [&] { a.copy_from(b, *s_); });
}

TEST_F(library_objects, a_borrowed_stream_is_used_and_not_destroyed) {
    const std::int64_t streams = live_of("streams");
    int ran = 0;
    {
        stream borrowed = stream::from_handle(s_->handle());
        EXPECT_EQ(borrowed.handle(), s_->handle());
        host_launch(borrowed, [&ran] { ++ran; });
        borrowed.sync();
        borrowed.close();
        expect_misuse(misuse::closed, [&] { borrowed.sync(); });
    }
    EXPECT_EQ(ran, 1);
    EXPECT_TRUE(are_live("streams", streams));
    s_->sync();
}

TEST_F(library_objects, moving_hands_over_and_destroys_what_was_there) {
    const std::int64_t streams = live_of("streams");
    stream a;
    stream b;
    CUstream_st* handle = a.handle();
    b = std::move(a);
    EXPECT_EQ(b.handle(), handle);
    EXPECT_TRUE(are_live("streams", streams + 1));
    const stream c(std::move(b));
    EXPECT_EQ(c.handle(), handle);
}

// contract: S6
TEST_F(library_objects, a_stream_that_was_moved_from_is_refused_like_a_closed_one) {
    stream a;
    const stream b(std::move(a));
    buffer memory(16);
    fate f;
    auto borrowed = [] {};
    expect_misuse(misuse::closed, [&] { host_launch(a, watched(f)); });
    EXPECT_EQ(f.destroyed, 1);
    expect_misuse(misuse::closed, [&] { host_launch(a, +[](void*) {}, nullptr); });
    expect_misuse(misuse::closed,
                  [&] { host_launch(a, +[](void*) {}, std::span<const std::byte>()); });
    expect_misuse(misuse::closed, [&] { host_launch(a, std::ref(borrowed)); });
    expect_misuse(misuse::closed, [&] { s_->wait(a); });
    expect_misuse(misuse::closed, [&] { memory.fill(std::byte{1}, a); });
    EXPECT_EQ(accepted(), 0u);
}

TEST_F(library_objects, an_event_tells_when_the_work_before_it_is_done) {
    blocker first;
    host_launch(*s_, std::ref(first));
    event e = s_->record();
    EXPECT_NE(e.handle(), nullptr);
    EXPECT_FALSE(e.is_done());
    first.let_go();
    e.sync();
    EXPECT_TRUE(e.is_done());
    blocker second;
    host_launch(*s_, std::ref(second));
    s_->record(e);
    EXPECT_FALSE(e.is_done());
    second.let_go();
    e.sync();
}

TEST_F(library_objects, buffers_are_filled_and_copied_in_stream_order) {
    buffer device(256);
    buffer pinned(256, buffer_kind::pinned);
    EXPECT_EQ(device.kind(), buffer_kind::device);
    EXPECT_TRUE(device.bytes().empty());
    EXPECT_NE(device.handle(), 0u);
    EXPECT_EQ(pinned.bytes().size(), 256u);
    EXPECT_EQ(pinned.nbytes(), 256u);
    pinned.fill(std::byte{1}, *s_);
    device.fill(std::byte{7}, *s_);
    device.copy_to(pinned, *s_);
    std::byte seen{};
    host_launch(*s_, [&] { seen = pinned.bytes()[255]; });
    s_->sync();
    EXPECT_EQ(seen, std::byte{7});
    pinned.fill(std::byte{9}, *s_);
    device.copy_from(pinned, *s_);
    pinned.fill(std::byte{0}, *s_);
    pinned.copy_from(device, *s_);
    s_->sync();
    EXPECT_TRUE(std::ranges::all_of(pinned.bytes(), [](std::byte b) { return b == std::byte{9}; }));
}

TEST_F(library_objects, buffers_of_no_size_or_of_different_sizes_are_invalid_arguments) {
    buffer a(16);
    buffer b(32);
    EXPECT_THROW(buffer(0), std::invalid_argument);
    EXPECT_THROW(a.copy_to(b, *s_), std::invalid_argument);
    EXPECT_THROW(a.copy_from(b, *s_), std::invalid_argument);
}

TEST_F(library_objects, closing_a_stream_with_functions_pending_lets_them_run) {
    std::atomic<int> ran{0};
    fate f;
    blocker first;
    host_launch(*s_, std::ref(first));
    for (int i = 0; i < 10; ++i)
        host_launch(*s_, [&ran] { ++ran; });
    host_launch(*s_, watched(f));
    s_->close();
    EXPECT_EQ(ran, 0);
    first.let_go();
    EXPECT_TRUE(eventually([&] { return ran == 10 && f.ran == 1 && f.destroyed == 1; }));
}

}  // namespace
}  // namespace hostlaunch::test
