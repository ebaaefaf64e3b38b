// SPDX-License-Identifier: Apache-2.0
// A thread's log, read while it is written.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "core/task/thread_log.hpp"

namespace hostlaunch::core::trace {
namespace {

event made(std::uint64_t number) {
    return {number,
            number + 1,
            {number + 2, number + 3, static_cast<name_id>(number), false},
            phase::runs};
}

void expect_whole(const event& e) {
    EXPECT_EQ(e.began, e.at + 1);
    EXPECT_EQ(e.of.token, e.at + 2);
    EXPECT_EQ(e.of.stream, e.at + 3);
    EXPECT_EQ(e.of.name, static_cast<name_id>(e.at));
}

// contract: V4
TEST(thread_log, gives_each_event_once_and_in_order_or_counts_it_as_lost) {
    constexpr std::uint64_t events = 500'000;
    auto log = std::make_unique<thread_log>();
    std::atomic<bool> done{false};
    std::jthread owner([&] {
        for (std::uint64_t i = 1; i <= events; ++i)
            log->add(made(i));
        done = true;
    });
    std::uint64_t last = 0, got = 0, lost = 0;
    const auto take = [&] {
        log->drain([&](const event& e) {
            expect_whole(e);
            EXPECT_GT(e.at, last);
            last = e.at;
            ++got;
        });
        lost += log->take_lost();
    };
    while (!done)
        take();
    take();
    EXPECT_EQ(got + lost, events);
    EXPECT_GE(got, std::uint64_t{thread_log::ring_events});
}

// contract: V1
TEST(thread_log, tells_what_the_thread_does_now_never_half_of_it) {
    auto log = std::make_unique<thread_log>();
    std::atomic<bool> done{false};
    std::jthread owner([&] {
        for (std::uint64_t i = 1; i <= 300'000; ++i) {
            log->set_current(made(i));
            if (i % 3 == 0) log->clear_current();
        }
        done = true;
    });
    while (!done) {
        event e;
        if (!log->read_current(e) || e.now == phase::none) continue;
        EXPECT_EQ(e.of.token, e.at + 2);
        EXPECT_EQ(e.of.stream, e.at + 3);
        EXPECT_EQ(e.of.name, static_cast<name_id>(e.at));
    }
}

// contract: V4: memory is bounded
TEST(thread_log, is_used_again_by_later_threads_once_it_was_read) {
    const auto log_of_a_thread = [](bool adds) {
        thread_log* log = nullptr;
        std::jthread([&] {
            log = log_of_this_thread();
            if (adds) log->add(made(1));
        }).join();
        return log;
    };
    std::set<thread_log*> used;
    for (int i = 0; i < 50; ++i)
        used.insert(log_of_a_thread(false));
    EXPECT_EQ(used.size(), 1u);
    thread_log* unread = log_of_a_thread(true);
    EXPECT_NE(log_of_a_thread(false), unread);
    unread->drain([](const event&) {});
    EXPECT_EQ(used.count(unread), 1u);
}

}  // namespace
}  // namespace hostlaunch::core::trace
