// SPDX-License-Identifier: Apache-2.0
// Order: within a stream, between streams through events, and against the device's own work.
#include <cstring>
#include <numeric>

#include "contract/scene.hpp"

namespace hostlaunch::contract {
namespace {

using order = driver_test;

std::vector<int> first_numbers(int n) {
    std::vector<int> numbers(static_cast<std::size_t>(n));
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
}

// contract: O1
TEST_F(order, functions_of_a_stream_run_once_each_in_the_order_of_their_launches) {
    const stream s = make_stream();
    journal& book = keep<journal>();
    for (int i = 0; i < 2000; ++i) {
        ASSERT_EQ(launch(s, book, i), success);
    }
    ASSERT_EQ(api().stream_synchronize(s), success);
    EXPECT_EQ(book.written(), first_numbers(2000));
}

// contract: O1
TEST_F(order, functions_launched_behind_a_running_one_wait_for_it) {
    const stream s = make_stream();
    journal& book = keep<journal>();
    blocker& g = hold(s);
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(launch(s, book, i), success);
    }
    EXPECT_EQ(api().stream_query(s), error_not_ready);
    EXPECT_TRUE(book.written().empty());
    g.let_go();
    ASSERT_EQ(api().stream_synchronize(s), success);
    EXPECT_EQ(api().stream_query(s), success);
    EXPECT_EQ(book.written(), first_numbers(100));
}

struct look {
    const unsigned char* at;
    std::vector<unsigned char> seen;
    static void run(void* self) {
        look& l = *static_cast<look*>(self);
        l.seen.push_back(*l.at);
    }
};

// contract: O1
TEST_F(order, device_work_before_a_function_is_complete_and_work_after_it_has_not_begun) {
    constexpr std::size_t bytes = 1 << 20;
    const stream s = make_stream();
    const device_ptr memory = make_memory(bytes);
    void* host = make_host_memory(bytes);
    look& l = keep<look>();
    l.at = static_cast<unsigned char*>(host) + bytes - 1;
    std::vector<unsigned char> expected;
    for (unsigned char i = 1; i <= 50; ++i) {
        ASSERT_EQ(api().memset_d8_async(memory, i, bytes, s), success);
        ASSERT_EQ(api().memcpy_async(reinterpret_cast<device_ptr>(host), memory, bytes, s),
                  success);
        ASSERT_EQ(api().launch_host_func(s, look::run, &l), success);
        expected.push_back(i);
    }
    ASSERT_EQ(api().stream_synchronize(s), success);
    EXPECT_EQ(l.seen, expected);
}

// contract: O1
TEST_F(order, an_event_carries_the_order_to_another_stream) {
    const stream first = make_stream();
    const stream second = make_stream();
    const event between = make_event();
    journal& book = keep<journal>();
    const value_gate& g = make_value_gate();
    ASSERT_EQ(g.hold(first), success);
    ASSERT_EQ(launch(first, book, 0), success);
    ASSERT_EQ(api().event_record(between, first), success);
    ASSERT_EQ(api().stream_wait_event(second, between, event_wait_default), success);
    ASSERT_EQ(launch(second, book, 1), success);
    EXPECT_EQ(api().stream_query(second), error_not_ready);
    g.release();
    ASSERT_EQ(api().stream_synchronize(second), success);
    EXPECT_EQ(book.written(), (std::vector<int>{0, 1}));
}

// contract: O1. Waiting orders across contexts, and devices, as recording does not.
TEST_F(order, an_event_carries_the_order_to_another_context_and_device) {
    int devices = 0;
    ASSERT_EQ(api().device_get_count(&devices), success);
    const stream here = make_stream();
    for (int device = 0; device < std::min(devices, 2); ++device) {
        const stream there = make_stream_in(make_context(device));
        const event between = make_event();
        journal& book = keep<journal>();
        const value_gate& g = make_value_gate();
        ASSERT_EQ(g.hold(here), success);
        ASSERT_EQ(launch(here, book, 0), success);
        ASSERT_EQ(api().event_record(between, here), success);
        ASSERT_EQ(api().stream_wait_event(there, between, event_wait_default), success);
        ASSERT_EQ(launch(there, book, 1), success);
        g.release();
        ASSERT_EQ(api().stream_synchronize(there), success);
        EXPECT_EQ(book.written(), (std::vector<int>{0, 1}));
    }
}

// contract: O3
TEST_F(order, two_hundred_thousand_launches_behind_a_blocked_function_do_not_wait) {
    constexpr int many = 200'000;
    const stream s = make_stream();
    std::atomic<int>& ran = make_counter();
    blocker& g = hold(s);
    call& launches = elsewhere([s, &ran] {
        for (int i = 0; i < many; ++i) {
            if (const result code = launch(s, ran)) return code;
        }
        return success;
    });
    EXPECT_EQ(launches.answer(), success);
    EXPECT_TRUE(g.is_held());
    EXPECT_EQ(ran, 0);
    g.let_go();
    ASSERT_EQ(api().stream_synchronize(s), success);
    EXPECT_EQ(ran, many);
}

}  // namespace
}  // namespace hostlaunch::contract
