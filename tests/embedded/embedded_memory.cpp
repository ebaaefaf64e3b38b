// SPDX-License-Identifier: Apache-2.0
// Memory: allocation, copies and sets, in and out of stream order.
#include <array>

#include "embedded/fixture.hpp"

namespace hostlaunch::embedded::test {
namespace {

using memory = embedded_driver;

TEST_F(memory, device_memory_is_aligned_and_counted) {
    device_ptr p = 0;
    ASSERT_EQ(cuMemAlloc_v2(&p, 3), success);
    EXPECT_EQ(p % 256, 0u);
    EXPECT_EQ(hostlaunch_embedded_live("device_memory"), 1);
    EXPECT_EQ(cuMemFree_v2(p), success);
    EXPECT_EQ(cuMemFree_v2(p), error_invalid_value);
    EXPECT_EQ(cuMemFree_v2(0), success);
    EXPECT_EQ(cuMemAlloc_v2(&p, 0), error_invalid_value);
    EXPECT_EQ(cuMemAlloc_v2(&p, std::size_t{1} << 60), error_out_of_memory);
}

TEST_F(memory, pinned_memory_has_a_device_pointer) {
    void* p = nullptr;
    device_ptr d = 0;
    ASSERT_EQ(cuMemHostAlloc(&p, 64, mem_host_alloc_device_map), success);
    EXPECT_EQ(cuMemHostGetDevicePointer_v2(&d, p, 0), success);
    EXPECT_EQ(d, reinterpret_cast<std::uintptr_t>(p));
    EXPECT_EQ(hostlaunch_embedded_live("host_memory"), 1);
    EXPECT_EQ(cuMemFree_v2(d), error_invalid_value);
    EXPECT_EQ(cuMemFreeHost(p), success);
}

TEST_F(memory, synchronous_copies_and_sets_reach_memory) {
    std::array<unsigned, 4> words{1, 2, 3, 4};
    device_ptr a = 0;
    device_ptr b = 0;
    ASSERT_EQ(cuMemAlloc_v2(&a, sizeof words), success);
    ASSERT_EQ(cuMemAlloc_v2(&b, sizeof words), success);
    ASSERT_EQ(cuMemcpyHtoD_v2(a, words.data(), sizeof words), success);
    ASSERT_EQ(cuMemsetD32_v2(a, 9, 1), success);
    ASSERT_EQ(cuMemcpyDtoD_v2(b, a, sizeof words), success);
    ASSERT_EQ(cuMemcpyDtoH_v2(words.data(), b, sizeof words), success);
    EXPECT_EQ(words, (std::array<unsigned, 4>{9, 2, 3, 4}));
    EXPECT_EQ(cuMemFree_v2(a), success);
    EXPECT_EQ(cuMemFree_v2(b), success);
}

TEST_F(memory, ranges_that_leave_an_allocation_are_refused) {
    const stream s = make_stream();
    std::array<char, 64> buffer{};
    device_ptr p = 0;
    ASSERT_EQ(cuMemAlloc_v2(&p, 32), success);
    EXPECT_EQ(cuMemsetD8Async(p, 0, 33, s), error_invalid_value);
    EXPECT_EQ(cuMemsetD8Async(p + 31, 0, 1, s), success);
    EXPECT_EQ(cuMemsetD32Async(p + 2, 0, 1, s), error_invalid_value);
    EXPECT_EQ(cuMemcpyHtoDAsync_v2(p, buffer.data(), 64, s), error_invalid_value);
    EXPECT_EQ(cuMemcpyAsync(0, p, 32, s), error_invalid_value);
    EXPECT_EQ(cuMemcpyHtoDAsync_v2(0x1000, buffer.data(), 8, s), error_invalid_value);
    EXPECT_EQ(cuStreamWaitValue32_v2(s, p + 1, 0, 0), error_invalid_value);
    EXPECT_EQ(cuStreamSynchronize(s), success);
    EXPECT_EQ(cuMemFree_v2(p), success);
}

TEST_F(memory, is_not_freed_while_another_context_has_work_on_it_enqueued) {
    device_ptr p = 0;
    ASSERT_EQ(cuMemAlloc_v2(&p, 1024), success);
    context other = nullptr;
    ASSERT_EQ(cuCtxCreate_v2(&other, 0, 0), success);
    const stream s = make_stream();
    {
        blocker held;
        ASSERT_EQ(cuLaunchHostFunc(s, &blocker::run, &held), success);
        ASSERT_EQ(cuMemsetD8Async(p, 1, 1024, s), success);
        held.wait_until_running();
        background frees([&] { EXPECT_EQ(cuMemFree_v2(p), success); });
        frees.wait_until_started();
        give_it_time();
        EXPECT_FALSE(frees.finished());
        held.let_go();
        frees.join();
    }
    EXPECT_EQ(cuCtxSynchronize(), success);
    EXPECT_EQ(cuCtxDestroy_v2(other), success);
    EXPECT_EQ(cuCtxSetCurrent(ctx_), success);
}

TEST_F(memory, large_copies_run_beside_each_other) {
    constexpr std::size_t bytes = std::size_t{8} << 20;
    std::vector<char> from(bytes, 'x');
    std::vector<std::unique_ptr<background>> running;
    for (int i = 0; i < 4; ++i) {
        running.push_back(std::make_unique<background>([&] {
            device_ptr p = 0;
            stream s = nullptr;
            std::vector<char> to(bytes);
            ASSERT_EQ(cuCtxSetCurrent(ctx_), success);
            ASSERT_EQ(cuStreamCreate(&s, stream_non_blocking), success);
            ASSERT_EQ(cuMemAlloc_v2(&p, bytes), success);
            ASSERT_EQ(cuMemcpyHtoDAsync_v2(p, from.data(), bytes, s), success);
            ASSERT_EQ(cuMemcpyDtoHAsync_v2(to.data(), p, bytes, s), success);
            ASSERT_EQ(cuStreamDestroy_v2(s), success);
            ASSERT_EQ(cuMemFree_v2(p), success);
            EXPECT_EQ(to, from);
        }));
    }
}

}  // namespace
}  // namespace hostlaunch::embedded::test
