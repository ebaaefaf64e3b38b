// SPDX-License-Identifier: Apache-2.0
// Waits that end at a time.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "surface/fixture.hpp"

namespace hostlaunch::test {
namespace {

using namespace std::chrono_literals;
using waits = on_a_stream;

// contract: D5
TEST_F(waits, that_are_too_short_say_so_and_may_be_repeated) {
    blocker first;
    host_launch(*s_, std::ref(first));
    event e = s_->record();
    for (const std::chrono::milliseconds limit : {-1ms, 0ms, 20ms}) {
        const auto began = std::chrono::steady_clock::now();
        EXPECT_FALSE(s_->sync_for(limit));
        EXPECT_FALSE(e.sync_for(limit));
        EXPECT_GE(std::chrono::steady_clock::now() - began, 2 * limit);
    }
    first.let_go();
    EXPECT_TRUE(s_->sync_for(60s));
    EXPECT_TRUE(e.sync_for(0s));
    EXPECT_TRUE(s_->sync_for(0.5min));
}

// contract: D5
TEST_F(waits, end_as_soon_as_the_work_is_done) {
    blocker first;
    host_launch(*s_, std::ref(first));
    std::thread opens([&first] { first.let_go(); });
    EXPECT_TRUE(s_->sync_for(std::chrono::hours::max()));
    opens.join();
}

// contract: D5, S6, E3
TEST_F(waits, are_refused_where_others_are) {
    event e = s_->record();
    host_launch(*s_, [&] {
        expect_misuse(misuse::in_host_function, [&] { (void)s_->sync_for(1s); });
        expect_misuse(misuse::in_host_function, [&] { (void)e.sync_for(1s); });
    });
    EXPECT_TRUE(s_->sync_for(60s));
    s_->close();
    e.close();
    expect_misuse(misuse::closed, [&] { (void)s_->sync_for(1s); });
    expect_misuse(misuse::closed, [&] { (void)e.sync_for(1s); });
    expect_misuse(misuse::closed, [&] { (void)event().sync_for(1s); });
}

// contract: D5, X3
TEST_F(waits, tell_an_error_of_the_context) {
    graph_builder b(*s_);
    b.begin_building();
    EXPECT_EQ(code_thrown_by([&] { (void)s_->sync_for(1s); }),
              abi::error_stream_capture_unsupported);
    b.close();
    EXPECT_TRUE(s_->sync_for(60s));
}

}  // namespace
}  // namespace hostlaunch::test
