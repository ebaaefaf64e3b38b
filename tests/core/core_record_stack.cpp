// SPDX-License-Identifier: Apache-2.0
// The stack of records on their way to release: nothing is lost, doubled or out of order.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "core/task/record_stack.hpp"

namespace hostlaunch::core {
namespace {

record_pool& pool() {
    return record_pool::instance();
}

struct label {
    int producer;
    int number;
};

record& make(label what) {
    record& r = *pool().acquire();
    *reinterpret_cast<label*>(r.payload) = what;
    return r;
}

label label_of(const record& r) {
    return *reinterpret_cast<const label*>(r.payload);
}

TEST(record_stack, drains_in_the_order_of_the_pushes) {
    record_stack stack;
    EXPECT_TRUE(stack.empty());
    for (int i = 0; i < 5; ++i)
        stack.push(make({0, i}));
    EXPECT_FALSE(stack.empty());
    int next = 0;
    stack.drain([&](record& r) {
        EXPECT_EQ(label_of(r).number, next++);
        pool().recycle(r);
    });
    EXPECT_EQ(next, 5);
    EXPECT_TRUE(stack.empty());
    stack.drain([](record&) { ADD_FAILURE() << "drained an empty stack"; });
}

TEST(record_stack, what_is_pushed_during_a_drain_waits_for_the_next) {
    record_stack stack;
    stack.push(make({0, 0}));
    stack.push(make({0, 1}));
    int first = 0;
    stack.drain([&](record& r) {
        ++first;
        stack.push(r);
    });
    EXPECT_EQ(first, 2);
    int second = 0;
    stack.drain([&](record& r) {
        EXPECT_EQ(label_of(r).number, second++);
        pool().recycle(r);
    });
    EXPECT_EQ(second, 2);
}

TEST(record_stack, forgets_what_belongs_to_the_parent_of_a_fork) {
    record_stack stack;
    record& r = make({0, 0});
    stack.push(r);
    stack.forget();
    EXPECT_TRUE(stack.empty());
    pool().recycle(r);
}

constexpr int producers = 4;
constexpr int pushes = 25'000;

std::vector<std::thread> start_producers(record_stack& stack) {
    std::vector<std::thread> threads;
    for (int p = 0; p < producers; ++p) {
        threads.emplace_back([&stack, p] {
            for (int i = 0; i < pushes; ++i)
                stack.push(make({p, i}));
        });
    }
    return threads;
}

TEST(record_stack, many_producers_and_one_drainer_keep_each_producers_order) {
    record_stack stack;
    std::array<int, producers> next{};
    int out_of_order = 0;
    const auto drain = [&] {
        stack.drain([&](record& r) {
            const label l = label_of(r);
            if (next[static_cast<std::size_t>(l.producer)]++ != l.number) ++out_of_order;
            pool().recycle(r);
        });
    };
    std::vector<std::thread> threads = start_producers(stack);
    std::atomic<bool> done{false};
    std::thread drainer([&] {
        while (!done)
            drain();
    });
    for (std::thread& t : threads)
        t.join();
    done = true;
    drainer.join();
    drain();
    EXPECT_EQ(out_of_order, 0);
    for (const int n : next)
        EXPECT_EQ(n, pushes);
}

TEST(record_stack, several_drainers_take_each_record_once) {
    record_stack stack;
    std::vector<std::atomic<int>> seen(std::size_t{producers} * pushes);
    const auto drain = [&] {
        stack.drain([&](record& r) {
            const label l = label_of(r);
            ++seen[static_cast<std::size_t>(l.producer * pushes + l.number)];
            pool().recycle(r);
        });
    };
    std::vector<std::thread> threads = start_producers(stack);
    std::atomic<bool> done{false};
    std::vector<std::thread> drainers;
    for (int i = 0; i < 2; ++i) {
        drainers.emplace_back([&] {
            while (!done)
                drain();
        });
    }
    for (std::thread& t : threads)
        t.join();
    done = true;
    for (std::thread& t : drainers)
        t.join();
    drain();
    int once = 0;
    for (const auto& s : seen)
        once += s == 1 ? 1 : 0;
    EXPECT_EQ(once, producers * pushes);
}

}  // namespace
}  // namespace hostlaunch::core
