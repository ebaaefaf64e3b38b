// SPDX-License-Identifier: Apache-2.0
// use_count: uses in progress, closing, and the one that is last.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

#include "core/process/use_count.hpp"

namespace hostlaunch::core {
namespace {

TEST(use_count, an_idle_object_is_closed_by_the_last_one) {
    use_count c;
    EXPECT_FALSE(c.is_closed());
    EXPECT_TRUE(c.close());
    EXPECT_TRUE(c.is_closed());
    EXPECT_FALSE(c.enter());
}

TEST(use_count, closing_twice_makes_nobody_last_twice) {
    use_count c;
    EXPECT_TRUE(c.close());
    EXPECT_FALSE(c.close());
}

TEST(use_count, the_last_use_of_a_closed_object_is_the_last_one) {
    use_count c;
    ASSERT_TRUE(c.enter());
    ASSERT_TRUE(c.enter());
    EXPECT_EQ(c.uses(), 2u);
    EXPECT_FALSE(c.close());
    EXPECT_FALSE(c.close());
    EXPECT_FALSE(c.leave());
    EXPECT_TRUE(c.leave());
    EXPECT_EQ(c.uses(), 0u);
}

TEST(use_count, a_use_of_an_open_object_is_never_last) {
    use_count c;
    ASSERT_TRUE(c.enter());
    EXPECT_FALSE(c.leave());
    EXPECT_FALSE(c.is_closed());
}

TEST(use_count, a_refused_use_is_not_counted) {
    use_count c;
    ASSERT_TRUE(c.enter());
    EXPECT_FALSE(c.close());
    EXPECT_FALSE(c.enter());
    EXPECT_EQ(c.uses(), 1u);
    EXPECT_TRUE(c.leave());
}

// Each user writes its own word of what is guarded; the last one out reads all of them. No word is
// atomic: what makes them visible is the use_count alone.
TEST(use_count, exactly_one_of_many_threads_is_last_and_sees_what_the_others_did) {
    constexpr int rounds = 1500;
    constexpr int users = 4;
    struct round {
        use_count uses;
        std::array<int, users> written{};
        std::atomic<int> entered{0};
        std::atomic<int> last{0};
        int seen = -1;
    };
    std::vector<round> all(rounds);
    std::barrier start(users + 1);
    const auto become_last = [](round& r) {
        ++r.last;
        r.seen = 0;
        for (const int w : r.written)
            r.seen += w;
    };
    std::vector<std::thread> threads;
    for (std::size_t user = 0; user < users; ++user) {
        threads.emplace_back([&, user] {
            for (round& r : all) {
                start.arrive_and_wait();
                if (!r.uses.enter()) continue;
                r.written[user] = 1;
                ++r.entered;
                if (r.uses.leave()) become_last(r);
            }
        });
    }
    for (round& r : all) {
        start.arrive_and_wait();
        if (r.uses.close()) become_last(r);
    }
    for (std::thread& t : threads)
        t.join();
    for (const round& r : all) {
        ASSERT_EQ(r.last, 1);
        ASSERT_EQ(r.seen, r.entered);
    }
}

}  // namespace
}  // namespace hostlaunch::core
