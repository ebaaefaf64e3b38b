// SPDX-License-Identifier: Apache-2.0
// Streams and events, as only the embedded driver answers.
#include <gtest/gtest.h>

#include "surface/fixture.hpp"

namespace hostlaunch::test {
namespace {

using objects = on_a_stream;

TEST_F(objects, the_driver_tells_what_it_is) {
    const driver_info info = hostlaunch::driver();
    EXPECT_EQ(info.name, "embedded");
    EXPECT_GE(info.version, 12000);
    EXPECT_NE(info.path.find("libhostlaunch_embedded.so"), std::string::npos);
    EXPECT_EQ(info.fallback_reason, "");
}

TEST_F(objects, a_stream_of_an_unknown_device_or_priority_is_an_error) {
    EXPECT_EQ(code_thrown_by([] { stream({.device_id = 99}); }), abi::error_invalid_device);
    EXPECT_EQ(code_thrown_by([] { stream({.priority = 1000}); }), abi::error_invalid_value);
    EXPECT_EQ(code_thrown_by([] { stream({.priority = -1000}); }), abi::error_invalid_value);
    stream usual({.priority = 0});
    host_launch(usual, [] {});
    usual.sync();
}

// contract: O1
TEST_F(objects, a_stream_waits_for_an_event_and_for_another_stream) {
    hostlaunch_embedded_set_threads(hostlaunch_embedded_threads_per_stream);
    stream other;
    blocker first;
    std::atomic<int> order{0};
    int at_event = 0;
    int at_stream = 0;
    host_launch(*s_, std::ref(first));
    host_launch(*s_, [&order] { ++order; });
    event e = s_->record();
    host_launch(*s_, [&order] { ++order; });
    other.wait(e);
    host_launch(other, [&] { at_event = order; });
    other.wait(*s_);
    host_launch(other, [&] { at_stream = order; });
    first.let_go();
    other.sync();
    EXPECT_GE(at_event, 1);
    EXPECT_EQ(at_stream, 2);
}

// contract: X3
TEST_F(objects, sync_throws_the_drivers_error_and_the_stream_goes_on) {
    ASSERT_EQ(hostlaunch_embedded_fail_call("cuStreamSynchronize", 1, abi::error_unknown), 0);
    EXPECT_EQ(code_thrown_by([this] { s_->sync(); }), abi::error_unknown);
    s_->sync();
}

}  // namespace
}  // namespace hostlaunch::test
