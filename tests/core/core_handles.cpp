// SPDX-License-Identifier: Apache-2.0
// Handles: closing with uses in progress, and driver objects whose last use ends in a host
// function.
#include <gtest/gtest.h>

#include <barrier>
#include <memory>
#include <thread>

#include "core/driver_fixture.hpp"
#include "core/objects/handle.hpp"
#include "core/objects/stream.hpp"

namespace hostlaunch::core {
namespace {

using test::eventually;

std::int64_t live_streams() {
    return hostlaunch_embedded_live("streams");
}

class handles : public test::core_on_embedded {
  protected:
    std::unique_ptr<stream> make() {
        std::unique_ptr<stream> made;
        EXPECT_TRUE(stream::create({}, made).ok());
        return made;
    }
};

TEST_F(handles, closing_waits_for_nobody_and_the_last_use_destroys) {
    const auto s = make();
    const std::int64_t live = live_streams();
    {
        const handle::use use(s->guard());
        ASSERT_TRUE(use);
        s->close();
        EXPECT_TRUE(s->is_closed());
        EXPECT_EQ(live_streams(), live);
        EXPECT_FALSE(handle::use(s->guard()));
    }
    EXPECT_EQ(live_streams(), live - 1);
    s->close();
    EXPECT_EQ(live_streams(), live - 1);
}

TEST_F(handles, a_borrowed_stream_is_never_destroyed) {
    const abi::stream raw = make_stream();
    const std::int64_t live = live_streams();
    {
        stream borrowed(raw);
    }
    EXPECT_EQ(live_streams(), live);
}

// contract: L2
TEST_F(handles, what_dies_in_a_function_of_ours_is_left_to_the_language_that_releases) {
    const auto s = make();
    const std::int64_t live = live_streams();
    static std::atomic<int> asked{0};
    set_release_hook([]() noexcept { return ++asked > 0; });
    {
        const host_function_scope inside;
        s->close();
    }
    EXPECT_EQ(asked, 1);
    EXPECT_TRUE(!to_release().empty());
    EXPECT_EQ(live_streams(), live);
    to_release().drain([](record& r) { dispose(r); });
    EXPECT_FALSE(!to_release().empty());
    EXPECT_EQ(live_streams(), live - 1);
    set_release_hook(nullptr);
}

// contract: L2
TEST_F(handles, what_dies_in_a_function_of_ours_is_destroyed_by_the_housekeeper_in_cpp) {
    const auto s = make();
    const std::int64_t live = live_streams();
    {
        const host_function_scope inside;
        s->close();
    }
    EXPECT_TRUE(eventually([live] { return live_streams() == live - 1 && to_release().empty(); }));
}

// contract: L2
TEST_F(handles, what_dies_in_a_foreign_host_function_is_destroyed_later) {
    const auto s = make();
    const abi::stream other = make_stream();
    const std::int64_t live = live_streams();
    const auto close = [](void* dying) { static_cast<stream*>(dying)->close(); };
    ASSERT_EQ(embedded::cuLaunchHostFunc(other, close, s.get()), 0);
    ASSERT_EQ(embedded::cuStreamSynchronize(other), 0);
    EXPECT_TRUE(eventually([live] { return live_streams() == live - 1; }));
}

// contract: X1
TEST_F(handles, a_stream_with_functions_pending_may_be_closed_and_they_still_run) {
    std::atomic<int> ran{0};
    test::blocker first;
    const auto s = make();
    ASSERT_TRUE(launch_untracked(s->target(), {&test::blocker::run, &first}).ok());
    const auto count_up = [](void* n) { ++*static_cast<std::atomic<int>*>(n); };
    ASSERT_TRUE(launch_untracked(s->target(), {count_up, &ran}).ok());
    s->close();
    first.let_go();
    EXPECT_TRUE(eventually([&ran] { return ran == 1; }));
}

TEST_F(handles, users_and_closers_race_and_each_stream_is_destroyed_once) {
    constexpr int rounds = 300;
    const std::int64_t live = live_streams();
    std::unique_ptr<stream> current = make();
    std::barrier step(3);
    const auto use = [&] {
        for (int i = 0; i < rounds; ++i) {
            step.arrive_and_wait();
            {
                const handle::use in_use(current->guard());
                abi::context context = nullptr;
                if (in_use) {
                    EXPECT_EQ(embedded::cuStreamGetCtx(current->raw(), &context), 0);
                }
            }
            step.arrive_and_wait();
        }
    };
    std::thread first(use);
    std::thread second(use);
    for (int i = 0; i < rounds; ++i) {
        step.arrive_and_wait();
        current->close();
        step.arrive_and_wait();
        EXPECT_EQ(live_streams(), live);
        if (i + 1 < rounds) current = make();
    }
    first.join();
    second.join();
}

}  // namespace
}  // namespace hostlaunch::core
