// SPDX-License-Identifier: Apache-2.0
// Contexts: which is current, what needs one, and how they end.
#include "embedded/fixture.hpp"

namespace hostlaunch::embedded::test {
namespace {

using contexts = embedded_driver;

// contract: O4
TEST_F(contexts, a_thread_without_one_can_launch_query_and_wait_on_a_created_stream) {
    const stream s = make_stream();
    std::atomic<int> ran{0};
    background other([&] {
        capture_status status = capture_status::active;
        context current = ctx_;
        context of_stream = nullptr;
        EXPECT_EQ(cuLaunchHostFunc(s, count_up, &ran), success);
        EXPECT_EQ(cuStreamIsCapturing(s, &status), success);
        EXPECT_EQ(status, capture_status::none);
        EXPECT_EQ(cuStreamSynchronize(s), success);
        EXPECT_EQ(cuStreamGetCtx(s, &of_stream), success);
        EXPECT_EQ(of_stream, ctx_);
        EXPECT_EQ(cuCtxGetCurrent(&current), success);
        EXPECT_EQ(current, nullptr);
    });
    other.join();
    EXPECT_EQ(ran, 1);
}

TEST_F(contexts, default_streams_and_new_objects_need_a_current_one) {
    background other([] {
        std::atomic<int> ran{0};
        event e = nullptr;
        stream s = nullptr;
        device dev = 0;
        device_ptr memory = 0;
        context ctx = nullptr;
        EXPECT_EQ(cuLaunchHostFunc(nullptr, count_up, &ran), error_invalid_context);
        EXPECT_EQ(cuLaunchHostFunc(stream_per_thread, count_up, &ran), error_invalid_context);
        EXPECT_EQ(cuEventCreate(&e, 0), error_invalid_context);
        EXPECT_EQ(cuStreamCreate(&s, 0), error_invalid_context);
        EXPECT_EQ(cuCtxGetDevice(&dev), error_invalid_context);
        EXPECT_EQ(cuMemAlloc_v2(&memory, 8), error_invalid_context);
        EXPECT_EQ(cuStreamGetCtx(stream_legacy, &ctx), error_invalid_context);
        EXPECT_EQ(cuCtxSynchronize(), error_invalid_context);
    });
    other.join();
}

TEST_F(contexts, push_pop_and_set_work_on_a_stack) {
    context other = nullptr;
    context seen = nullptr;
    ASSERT_EQ(cuCtxCreate_v2(&other, 0, 0), success);
    ASSERT_EQ(cuCtxGetCurrent(&seen), success);
    EXPECT_EQ(seen, other);
    ASSERT_EQ(cuCtxPushCurrent_v2(ctx_), success);
    ASSERT_EQ(cuCtxPopCurrent_v2(&seen), success);
    EXPECT_EQ(seen, ctx_);
    ASSERT_EQ(cuCtxDestroy_v2(other), success);
    ASSERT_EQ(cuCtxGetCurrent(&seen), success);
    EXPECT_EQ(seen, ctx_);
    event e = nullptr;
    EXPECT_EQ(cuCtxSetCurrent(other), success);  // what uses it tells
    EXPECT_EQ(cuEventCreate(&e, 0), error_context_is_destroyed);
    EXPECT_EQ(cuCtxSetCurrent(nullptr), success);
    ASSERT_EQ(cuCtxGetCurrent(&seen), success);
    EXPECT_EQ(seen, nullptr);
}

TEST_F(contexts, destruction_waits_until_all_functions_have_run) {
    context other = nullptr;
    stream s = nullptr;
    std::atomic<int> ran{0};
    ASSERT_EQ(cuCtxCreate_v2(&other, 0, 0), success);
    ASSERT_EQ(cuStreamCreate(&s, 0), success);
    blocker b;
    ASSERT_EQ(cuLaunchHostFunc(s, blocker::run, &b), success);
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(cuLaunchHostFunc(s, count_up, &ran), success);
    }
    b.wait_until_running();
    background destroys([&] { EXPECT_EQ(cuCtxDestroy_v2(other), success); });
    destroys.wait_until_started();
    give_it_time();
    EXPECT_FALSE(destroys.finished());
    b.let_go();
    destroys.join();
    EXPECT_EQ(ran, 100);
    EXPECT_EQ(cuStreamQuery(s), error_context_is_destroyed);
    EXPECT_EQ(cuStreamDestroy_v2(s), error_context_is_destroyed);
    EXPECT_EQ(cuStreamDestroy_v2(s), error_invalid_handle);
    ASSERT_EQ(cuCtxPopCurrent_v2(nullptr), success);
}

TEST_F(contexts, a_primary_reset_waits_and_ends_what_was_made_in_it) {
    stream s = nullptr;
    event e = nullptr;
    device_ptr memory = 0;
    std::atomic<int> ran{0};
    ASSERT_EQ(cuStreamCreate(&s, 0), success);
    ASSERT_EQ(cuEventCreate(&e, 0), success);
    ASSERT_EQ(cuMemAlloc_v2(&memory, 8), success);
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(cuLaunchHostFunc(s, count_up, &ran), success);
    }
    ASSERT_EQ(cuDevicePrimaryCtxReset_v2(0), success);
    EXPECT_EQ(ran, 100);
    EXPECT_EQ(cuEventQuery(e), error_context_is_destroyed);
    EXPECT_EQ(cuMemFree_v2(memory), error_invalid_value);
    EXPECT_EQ(hostlaunch_embedded_live("streams"), 0);
    EXPECT_EQ(cuEventCreate(&e, 0), error_context_is_destroyed);
    unsigned flags = 1;
    int active = 1;
    EXPECT_EQ(cuDevicePrimaryCtxGetState(0, &flags, &active), success);
    EXPECT_EQ(active, 0);
    context again = nullptr;
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&again, 0), success);
    ASSERT_EQ(cuCtxSetCurrent(again), success);
    EXPECT_EQ(cuCtxSynchronize(), success);
    EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), success);
}

TEST_F(contexts, several_threads_may_destroy_one_and_one_of_them_does) {
    context other = nullptr;
    stream s = nullptr;
    std::atomic<int> destroyed{0};
    ASSERT_EQ(cuCtxCreate_v2(&other, 0, 0), success);
    ASSERT_EQ(cuStreamCreate(&s, 0), success);
    blocker b;
    ASSERT_EQ(cuLaunchHostFunc(s, blocker::run, &b), success);
    b.wait_until_running();
    {
        std::vector<std::unique_ptr<background>> threads;
        for (int i = 0; i < 4; ++i) {
            threads.push_back(std::make_unique<background>([&] {
                const result answer = cuCtxDestroy_v2(other);
                destroyed += answer == success ? 1 : 0;
                EXPECT_TRUE(answer == success || answer == error_context_is_destroyed);
            }));
        }
        for (const auto& each : threads) {
            each->wait_until_started();
        }
        b.let_go();
    }
    EXPECT_EQ(destroyed, 1);
    ASSERT_EQ(cuCtxPopCurrent_v2(nullptr), success);
}

TEST_F(contexts, devices_describe_themselves) {
    int count = 0;
    char name[64] = "";
    int value = -1;
    std::size_t bytes = 0;
    int least = -1;
    int greatest = 1;
    ASSERT_EQ(cuDeviceGetCount(&count), success);
    EXPECT_EQ(count, 1);
    EXPECT_EQ(cuDeviceGetName(name, sizeof name, 0), success);
    EXPECT_STREQ(name, "hostlaunch embedded device");
    EXPECT_EQ(cuDeviceGetAttribute(&value, 75, 0), success);
    EXPECT_EQ(value, 9);
    EXPECT_EQ(cuDeviceGetAttribute(&value, 0, 0), error_invalid_value);
    EXPECT_EQ(cuDeviceGetAttribute(&value, 75, 1), error_invalid_device);
    EXPECT_EQ(cuDeviceTotalMem_v2(&bytes, 0), success);
    EXPECT_GT(bytes, 0u);
    EXPECT_EQ(cuCtxGetStreamPriorityRange(&least, &greatest), success);
    EXPECT_LE(greatest, least);
    device dev = -1;
    EXPECT_EQ(cuDeviceGet(&dev, 5), error_invalid_device);
}

}  // namespace
}  // namespace hostlaunch::embedded::test
