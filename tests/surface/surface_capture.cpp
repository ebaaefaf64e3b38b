// SPDX-License-Identifier: Apache-2.0
// Captures: a capturing stream is refused and left alone, and nothing in the background harms one.
#include <gtest/gtest.h>

#include <array>
#include <ostream>
#include <string>
#include <thread>
#include <tuple>

#include "surface/fixture.hpp"

namespace hostlaunch::test {
namespace {

constexpr auto modes = {abi::capture_mode::global, abi::capture_mode::thread_local_mode,
                        abi::capture_mode::relaxed};

// A capture on a stream, which must still be whole at its end.
class capture_in_progress {
  public:
    capture_in_progress(stream_ref s, abi::capture_mode mode) : stream_(raw(s)) {
        EXPECT_EQ(embedded::cuStreamBeginCapture_v2(stream_, mode), 0);
    }
    // Ends the capture, which must have recorded nothing.
    void end_whole() {
        abi::graph graph = nullptr;
        std::size_t nodes = 1;
        auto status = abi::capture_status::none;
        EXPECT_EQ(embedded::cuStreamIsCapturing(stream_, &status), 0);
        EXPECT_EQ(status, abi::capture_status::active);
        ASSERT_EQ(embedded::cuStreamEndCapture(stream_, &graph), 0);
        EXPECT_EQ(embedded::cuGraphGetNodes(graph, nullptr, &nodes), 0);
        EXPECT_EQ(nodes, 0u);
        EXPECT_EQ(embedded::cuGraphDestroy(graph), 0);
    }
    void end_invalidated() {
        abi::graph graph = nullptr;
        EXPECT_EQ(embedded::cuStreamEndCapture(stream_, &graph),
                  abi::error_stream_capture_invalidated);
    }

  private:
    abi::stream stream_;
};

class captures : public on_a_stream {
  protected:
    void SetUp() override {
        on_a_stream::SetUp();
        captured_.emplace();
    }
    void TearDown() override {
        captured_.reset();
        on_a_stream::TearDown();
    }
    // Makes every kind of launch on a stream; each must be refused.
    void expect_refused(stream_ref s, misuse why) {
        std::atomic<int> ran{0};
        const std::array<std::byte, 8> bytes{};
        auto borrowed = [&ran] { ++ran; };
        expect_misuse(why, [&] { host_launch(s, [&ran] { ++ran; }); });
        expect_misuse(why, [&] { host_launch(s, +[](void*) {}, nullptr); });
        expect_misuse(why, [&] { host_launch(s, +[](void*) {}, bytes); });
        expect_misuse(why, [&] { host_launch(s, std::ref(borrowed)); });
        EXPECT_EQ(accepted(), 0u);
        EXPECT_EQ(ran, 0);
    }
    std::optional<stream> captured_;
};

// contract: S5
TEST_F(captures, a_capturing_stream_is_refused_and_the_capture_is_unharmed) {
    for (const abi::capture_mode mode : modes) {
        capture_in_progress capture(*captured_, mode);
        expect_refused(*captured_, misuse::capturing);
        expect_refused(captured_->handle(), misuse::capturing);
        capture.end_whole();
    }
    host_launch(*captured_, [] {});
    captured_->sync();
    EXPECT_EQ(ran(), 1u);
}

// contract: S5
TEST_F(captures, a_stream_whose_capture_was_invalidated_is_refused_and_stays_so) {
    capture_in_progress capture(*captured_, abi::capture_mode::global);
    EXPECT_NE(embedded::cuStreamSynchronize(raw(*captured_)), 0);
    expect_refused(*captured_, misuse::capturing);
    capture.end_invalidated();
    host_launch(*captured_, [] {});
    captured_->sync();
    EXPECT_EQ(ran(), 1u);
}

// contract: S5
TEST_F(captures, the_default_stream_is_refused_while_a_capture_forbids_its_use) {
    abi::context context = nullptr;
    ASSERT_EQ(embedded::cuDevicePrimaryCtxRetain(&context, 0), 0);
    ASSERT_EQ(embedded::cuCtxSetCurrent(context), 0);
    stream blocking({.device_id = 0, .nonblocking = false});
    capture_in_progress capture(blocking, abi::capture_mode::global);
    expect_refused(public_handle(abi::stream_legacy), misuse::capturing);
    expect_refused(static_cast<CUstream_st*>(nullptr), misuse::capturing);
    capture.end_whole();
    std::atomic<int> ran{0};
    host_launch(public_handle(abi::stream_legacy), [&ran] { ++ran; });
    stream::from_handle(public_handle(abi::stream_legacy)).sync();
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(embedded::cuCtxSetCurrent(nullptr), 0);
}

// contract: S5
TEST_F(captures, a_stream_that_joined_a_capture_through_an_event_is_refused) {
    abi::context context = nullptr;
    abi::event fork = nullptr;
    abi::event join = nullptr;
    ASSERT_EQ(embedded::cuDevicePrimaryCtxRetain(&context, 0), 0);
    ASSERT_EQ(embedded::cuCtxSetCurrent(context), 0);
    ASSERT_EQ(embedded::cuEventCreate(&fork, abi::event_disable_timing), 0);
    ASSERT_EQ(embedded::cuEventCreate(&join, abi::event_disable_timing), 0);
    capture_in_progress capture(*captured_, abi::capture_mode::global);
    ASSERT_EQ(embedded::cuEventRecord(fork, raw(*captured_)), 0);
    ASSERT_EQ(embedded::cuStreamWaitEvent(raw(*s_), fork, 0), 0);
    expect_refused(*s_, misuse::capturing);
    ASSERT_EQ(embedded::cuEventRecord(join, raw(*s_)), 0);
    ASSERT_EQ(embedded::cuStreamWaitEvent(raw(*captured_), join, 0), 0);
    capture.end_whole();
    EXPECT_EQ(embedded::cuEventDestroy_v2(fork), 0);
    EXPECT_EQ(embedded::cuEventDestroy_v2(join), 0);
    EXPECT_EQ(embedded::cuCtxSetCurrent(nullptr), 0);
}

void do_nothing(void*) {}

// Launches of all kinds on another stream, pending during the capture and ended within it.
void launch_and_finish(stream& s) {
    fate f;
    const std::array<std::byte, 8> bytes{};
    const launch_stats before = stats();
    blocker first;
    host_launch(s, std::ref(first));
    host_launch(s, &do_nothing, bytes);
    host_launch(s, watched(f));
    host_launch(s, &do_nothing, bytes);
    first.wait_until_running();
    const std::uint64_t polls = hostlaunch_embedded_calls("cuEventQuery");
    EXPECT_TRUE(
        eventually([polls] { return hostlaunch_embedded_calls("cuEventQuery") >= polls + 3; }));
    first.let_go();
    EXPECT_TRUE(eventually([&] { return stats().ran - before.ran == 3 && f.destroyed == 1; }));
}

// contract: G4
TEST_F(captures, launches_pending_on_another_stream_leave_a_capture_of_this_thread_whole) {
    for (const abi::capture_mode mode : modes) {
        capture_in_progress capture(*captured_, mode);
        launch_and_finish(*s_);
        capture.end_whole();
    }
}

// contract: G4
TEST_F(captures, launches_pending_on_another_stream_leave_a_capture_of_another_thread_whole) {
    for (const abi::capture_mode mode : modes) {
        capture_in_progress capture(*captured_, mode);
        std::thread([this] { launch_and_finish(*s_); }).join();
        capture.end_whole();
    }
}

// contract: G4
TEST_F(captures, launches_pending_before_the_capture_began_leave_it_whole) {
    const std::array<std::byte, 8> bytes{};
    blocker first;
    host_launch(*s_, std::ref(first));
    host_launch(*s_, &do_nothing, bytes);
    capture_in_progress capture(*captured_, abi::capture_mode::global);
    first.let_go();
    EXPECT_TRUE(eventually([this] { return ran() == 1; }));
    capture.end_whole();
}

// contract: G4
TEST_F(captures, releases_of_driver_objects_leave_a_capture_whole) {
    const auto close_everything = [](stream& other) {
        stream dying;
        event e = other.record();
        buffer device(64, buffer_kind::device, 0);
        buffer pinned(64, buffer_kind::pinned, 0);
        return std::tuple(std::move(dying), std::move(e), std::move(device), std::move(pinned));
    };
    for (const bool same_thread : {true, false}) {
        auto objects = std::optional(close_everything(*s_));
        capture_in_progress capture(*captured_, abi::capture_mode::global);
        if (same_thread) {
            objects.reset();
        } else {
            std::thread([&objects] { objects.reset(); }).join();
        }
        capture.end_whole();
    }
}

// A callable's own finalizer destroys CUDA objects, on whatever thread the library runs it.
// contract: G4
TEST_F(captures, finalizers_that_destroy_cuda_objects_leave_a_capture_whole) {
    auto memory = std::make_shared<buffer>(64, buffer_kind::device, 0);
    capture_in_progress capture(*captured_, abi::capture_mode::global);
    host_launch(*s_, [kept = std::move(memory)] {});
    EXPECT_TRUE(eventually(nothing_outstanding));
    EXPECT_EQ(ran(), 1u);
    capture.end_whole();
}

// What the library does in the foreground on streams that do not capture.
struct foreground {
    const char* name;
    void (*call)(stream&, event&, buffer&, buffer&);
};
void PrintTo(const foreground& f, std::ostream* out) {
    *out << f.name;
}

const foreground foreground_calls[] = {
    {"make_a_stream", [](stream&, event&, buffer&, buffer&) { stream made({.device_id = 0}); }},
    {"record", [](stream& s, event&, buffer&, buffer&) { (void)s.record(); }},
    {"record_again", [](stream& s, event& e, buffer&, buffer&) { s.record(e); }},
    {"wait_for_event", [](stream& s, event& e, buffer&, buffer&) { s.wait(e); }},
    {"wait_for_stream", [](stream& s, event&, buffer&, buffer&) { s.wait(s); }},
    {"event_is_done", [](stream&, event& e, buffer&, buffer&) { (void)e.is_done(); }},
    {"event_sync", [](stream&, event& e, buffer&, buffer&) { e.sync(); }},
    {"stream_sync", [](stream& s, event&, buffer&, buffer&) { s.sync(); }},
    {"device_id", [](stream& s, event&, buffer&, buffer&) { (void)s.device_id(); }},
    {"copy", [](stream& s, event&, buffer& a, buffer& b) { a.copy_to(b, s); }},
    {"fill", [](stream& s, event&, buffer& a, buffer&) { a.fill(std::byte{1}, s); }},
    {"make_a_device_buffer",
     [](stream&, event&, buffer&, buffer&) { buffer made(64, buffer_kind::device, 0); }},
    {"make_a_pinned_buffer",
     [](stream&, event&, buffer&, buffer&) { buffer made(64, buffer_kind::pinned, 0); }},
};

class capture_elsewhere : public captures, public testing::WithParamInterface<foreground> {};

// contract: G4
TEST_P(capture_elsewhere, is_left_whole) {
    event e = s_->record();
    buffer a(64, buffer_kind::device, 0);
    buffer b(64, buffer_kind::pinned, 0);
    capture_in_progress capture(*captured_, abi::capture_mode::global);
    try {
        GetParam().call(*s_, e, a, b);
    } catch (const error& refused) {
        ADD_FAILURE() << refused.what();
    }
    capture.end_whole();
}

INSTANTIATE_TEST_SUITE_P(by, capture_elsewhere, testing::ValuesIn(foreground_calls),
                         [](const testing::TestParamInfo<foreground>& f) {
                             return std::string(f.param.name);
                         });

}  // namespace
}  // namespace hostlaunch::test
