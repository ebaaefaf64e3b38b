// SPDX-License-Identifier: Apache-2.0
// Stream order: what runs before what, and what does not wait.
#include <array>
#include <cstring>

#include "embedded/fixture.hpp"

namespace hostlaunch::embedded::test {
namespace {

using order = embedded_driver;

struct note {
    std::vector<int>* list;
    int number;
    static void write(void* self) {
        auto* n = static_cast<note*>(self);
        n->list->push_back(n->number);
    }
};

// contract: D1, O1
TEST_F(order, functions_of_a_stream_run_in_the_order_of_their_launches) {
    constexpr int count = 1000;
    const stream s = make_stream();
    std::vector<int> seen;
    std::vector<note> notes(count);
    for (int i = 0; i < count; ++i) {
        notes[static_cast<std::size_t>(i)] = {&seen, i};
        ASSERT_EQ(cuLaunchHostFunc(s, note::write, &notes[static_cast<std::size_t>(i)]), success);
    }
    ASSERT_EQ(cuStreamSynchronize(s), success);
    ASSERT_EQ(seen.size(), std::size_t{count});
    EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
}

// contract: D1
TEST_F(order, memory_operations_wait_for_the_function_before_them) {
    const stream s = make_stream();
    device_ptr memory = 0;
    ASSERT_EQ(cuMemAlloc_v2(&memory, 64), success);
    std::array<unsigned char, 64> out{};
    blocker b;
    ASSERT_EQ(cuMemsetD8Async(memory, 1, 64, s), success);
    ASSERT_EQ(cuLaunchHostFunc(s, blocker::run, &b), success);
    ASSERT_EQ(cuMemsetD8Async(memory, 2, 64, s), success);
    ASSERT_EQ(cuMemcpyDtoHAsync_v2(out.data(), memory, 64, s), success);
    b.wait_until_running();
    EXPECT_EQ(*reinterpret_cast<unsigned char*>(memory), 1);
    EXPECT_EQ(cuStreamQuery(s), error_not_ready);
    b.let_go();
    ASSERT_EQ(cuStreamSynchronize(s), success);
    EXPECT_EQ(out[63], 2);
    EXPECT_EQ(cuStreamQuery(s), success);
    EXPECT_EQ(cuMemFree_v2(memory), success);
}

// contract: D1. One thread runs all host functions of a context; everything else goes on.
TEST_F(order, other_streams_copy_while_a_host_function_runs) {
    const stream blocked = make_stream();
    const stream free = make_stream();
    std::array<char, 8192> from{};
    std::array<char, 8192> to{};
    from.back() = 'x';
    blocker b;
    ASSERT_EQ(cuLaunchHostFunc(blocked, blocker::run, &b), success);
    b.wait_until_running();
    ASSERT_EQ(cuMemcpyAsync(reinterpret_cast<device_ptr>(to.data()),
                            reinterpret_cast<device_ptr>(from.data()), to.size(), free),
              success);
    EXPECT_EQ(cuStreamSynchronize(free), success);
    EXPECT_EQ(to.back(), 'x');
    b.let_go();
}

TEST_F(order, the_legacy_stream_waits_for_blocking_streams) {
    const stream blocking = make_stream(stream_default);
    std::atomic<int> ran{0};
    blocker b;
    ASSERT_EQ(cuLaunchHostFunc(blocking, blocker::run, &b), success);
    b.wait_until_running();
    unsigned char byte = 0;
    device_ptr memory = 0;
    ASSERT_EQ(cuMemAlloc_v2(&memory, 1), success);
    ASSERT_EQ(cuMemsetD8Async(memory, 7, 1, nullptr), success);
    ASSERT_EQ(cuMemcpyDtoHAsync_v2(&byte, memory, 1, stream_legacy), success);
    EXPECT_EQ(cuStreamQuery(nullptr), error_not_ready);
    b.let_go();
    ASSERT_EQ(cuStreamSynchronize(nullptr), success);
    EXPECT_EQ(byte, 7);
    EXPECT_EQ(cuMemFree_v2(memory), success);
}

TEST_F(order, blocking_streams_wait_for_the_legacy_stream_and_others_do_not) {
    const stream blocking = make_stream(stream_default);
    const stream independent = make_stream(stream_non_blocking);
    const event after_blocking = make_event();
    const event after_own = make_event();
    const event after_independent = make_event();
    blocker b;
    ASSERT_EQ(cuLaunchHostFunc(stream_legacy, blocker::run, &b), success);
    b.wait_until_running();
    ASSERT_EQ(cuEventRecord(after_blocking, blocking), success);
    ASSERT_EQ(cuEventRecord(after_own, stream_per_thread), success);
    ASSERT_EQ(cuEventRecord(after_independent, independent), success);
    EXPECT_EQ(cuEventQuery(after_blocking), error_not_ready);
    EXPECT_EQ(cuEventQuery(after_own), error_not_ready);
    EXPECT_EQ(cuEventQuery(after_independent), success);
    b.let_go();
    EXPECT_EQ(cuEventSynchronize(after_blocking), success);
    EXPECT_EQ(cuEventSynchronize(after_own), success);
}

TEST_F(order, threads_have_per_thread_streams_of_their_own) {
    unsigned long long mine = 0;
    unsigned long long again = 0;
    unsigned long long theirs = 0;
    ASSERT_EQ(cuStreamGetId(stream_per_thread, &mine), success);
    ASSERT_EQ(cuStreamGetId(stream_per_thread, &again), success);
    background other([&] {
        ASSERT_EQ(cuCtxSetCurrent(ctx_), success);
        ASSERT_EQ(cuStreamGetId(stream_per_thread, &theirs), success);
    });
    other.join();
    EXPECT_EQ(mine, again);
    EXPECT_NE(mine, theirs);
}

TEST_F(order, work_of_a_thread_that_has_ended_still_runs) {
    std::atomic<int> ran{0};
    blocker b;
    const stream s = make_stream();
    ASSERT_EQ(cuLaunchHostFunc(s, blocker::run, &b), success);
    background other([&] {
        ASSERT_EQ(cuCtxSetCurrent(ctx_), success);
        ASSERT_EQ(cuLaunchHostFunc(stream_per_thread, count_up, &ran), success);
    });
    other.join();
    b.let_go();
    EXPECT_EQ(hostlaunch_embedded_wait_idle(patience_ms), 0);
    EXPECT_EQ(ran, 1);
}

TEST_F(order, a_value_in_memory_holds_a_stream_back_until_it_is_reached) {
    const stream waiting = make_stream();
    const stream writing = make_stream();
    const event e = make_event();
    device_ptr word = 0;
    ASSERT_EQ(cuMemAlloc_v2(&word, 8), success);
    ASSERT_EQ(cuMemsetD8Async(word, 0, 8, waiting), success);
    ASSERT_EQ(cuStreamWaitValue32_v2(waiting, word, 5, 0), success);
    ASSERT_EQ(cuEventRecord(e, waiting), success);
    EXPECT_EQ(cuEventQuery(e), error_not_ready);
    ASSERT_EQ(cuStreamWriteValue32_v2(writing, word, 4, 0), success);
    EXPECT_EQ(cuEventQuery(e), error_not_ready);
    ASSERT_EQ(cuStreamWriteValue32_v2(writing, word, 6, 0), success);
    EXPECT_EQ(cuEventSynchronize(e), success);
    ASSERT_EQ(cuStreamWaitValue64_v2(waiting, word, 1, 1), success);
    ASSERT_EQ(cuEventRecord(e, waiting), success);
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(word)).store(1, std::memory_order_release);
    EXPECT_EQ(cuEventSynchronize(e), success);
    EXPECT_EQ(cuMemFree_v2(word), success);
}

TEST_F(order, two_hundred_thousand_functions_queue_without_waiting) {
    constexpr int count = 200'000;
    const stream s = make_stream();
    std::atomic<int> ran{0};
    blocker b;
    ASSERT_EQ(cuLaunchHostFunc(s, blocker::run, &b), success);
    b.wait_until_running();
    for (int i = 0; i < count; ++i) {
        ASSERT_EQ(cuLaunchHostFunc(s, count_up, &ran), success);
    }
    EXPECT_EQ(hostlaunch_embedded_live("pending"), count);
    b.let_go();
    ASSERT_EQ(cuStreamSynchronize(s), success);
    EXPECT_EQ(ran, count);
}

TEST_F(order, stream_destruction_returns_at_once_and_pending_work_still_runs) {
    std::atomic<int> ran{0};
    blocker b;
    stream s = nullptr;
    ASSERT_EQ(cuStreamCreate(&s, stream_non_blocking), success);
    ASSERT_EQ(cuLaunchHostFunc(s, blocker::run, &b), success);
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(cuLaunchHostFunc(s, count_up, &ran), success);
    }
    b.wait_until_running();
    EXPECT_EQ(cuStreamDestroy_v2(s), success);
    EXPECT_FALSE(b.has_ended());
    EXPECT_EQ(cuLaunchHostFunc(s, count_up, &ran), error_invalid_handle);
    b.let_go();
    EXPECT_EQ(hostlaunch_embedded_wait_idle(patience_ms), 0);
    EXPECT_EQ(ran, 100);
}

}  // namespace
}  // namespace hostlaunch::embedded::test
