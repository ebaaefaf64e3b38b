// SPDX-License-Identifier: Apache-2.0
// Sticky errors, which last as long as the process. Each case has its own process.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>

#include "embedded/fixture.hpp"

namespace hostlaunch::embedded::test {
namespace {

struct two_devices {
    context first = nullptr;
    context second = nullptr;
    stream here = nullptr;
    stream there = nullptr;
    event never_recorded = nullptr;
    event there_event = nullptr;

    two_devices() {
        setenv("HOSTLAUNCH_EMBEDDED_DEVICES", "2", 1);
        EXPECT_EQ(cuInit(0), success);
        EXPECT_EQ(cuDevicePrimaryCtxRetain(&second, 1), success);
        EXPECT_EQ(cuCtxSetCurrent(second), success);
        EXPECT_EQ(cuStreamCreate(&there, stream_non_blocking), success);
        EXPECT_EQ(cuEventCreate(&there_event, event_disable_timing), success);
        EXPECT_EQ(cuDevicePrimaryCtxRetain(&first, 0), success);
        EXPECT_EQ(cuCtxSetCurrent(first), success);
        EXPECT_EQ(cuStreamCreate(&here, stream_non_blocking), success);
        EXPECT_EQ(cuEventCreate(&never_recorded, event_disable_timing), success);
    }
};

constexpr result fault = error_illegal_address;

// contract: X3
TEST(sticky_error, pending_functions_never_run_and_the_running_one_ends) {
    in_forked_child([] {
        const two_devices d;
        std::atomic<int> ran{0};
        blocker b;
        EXPECT_EQ(cuLaunchHostFunc(d.here, blocker::run, &b), success);
        for (int i = 0; i < 100; ++i) {
            EXPECT_EQ(cuLaunchHostFunc(d.here, count_up, &ran), success);
        }
        b.wait_until_running();
        background waits([&] { EXPECT_EQ(cuStreamSynchronize(d.here), fault); });
        waits.wait_until_started();
        hostlaunch_embedded_sticky_error(fault);
        waits.join();
        EXPECT_FALSE(b.has_ended());
        b.let_go();
        EXPECT_EQ(hostlaunch_embedded_wait_idle(patience_ms), 0);
        EXPECT_EQ(hostlaunch_embedded_live("pending"), 0);
        EXPECT_EQ(ran, 0);
        EXPECT_TRUE(b.has_ended());
    });
}

// contract: X3
TEST(sticky_error, every_device_reports_it_and_events_that_were_never_recorded_too) {
    in_forked_child([] {
        const two_devices d;
        std::atomic<int> ran{0};
        hostlaunch_embedded_sticky_error(fault);
        for (const stream s : {d.here, d.there}) {
            EXPECT_EQ(cuLaunchHostFunc(s, count_up, &ran), fault);
            EXPECT_EQ(cuStreamSynchronize(s), fault);
            EXPECT_EQ(cuStreamQuery(s), fault);
        }
        EXPECT_EQ(cuEventQuery(d.never_recorded), fault);
        EXPECT_EQ(cuEventQuery(d.there_event), fault);
        EXPECT_EQ(cuEventSynchronize(d.there_event), fault);
        EXPECT_EQ(cuCtxSynchronize(), fault);
        stream s = nullptr;
        event e = nullptr;
        EXPECT_EQ(cuStreamCreate(&s, 0), fault);
        EXPECT_EQ(cuEventCreate(&e, 0), fault);
        EXPECT_EQ(ran, 0);
    });
}

// contract: X3
TEST(sticky_error, names_and_the_current_context_can_still_be_asked_for) {
    in_forked_child([] {
        const two_devices d;
        hostlaunch_embedded_sticky_error(fault);
        hostlaunch_embedded_reset();  // which does not end it
        const char* name = nullptr;
        context ctx = nullptr;
        unsigned version = 0;
        EXPECT_EQ(cuGetErrorName(fault, &name), success);
        EXPECT_STREQ(name, "CUDA_ERROR_ILLEGAL_ADDRESS");
        EXPECT_EQ(cuCtxGetCurrent(&ctx), success);
        EXPECT_EQ(ctx, d.first);
        EXPECT_EQ(cuCtxGetApiVersion(ctx, &version), success);
        EXPECT_EQ(cuStreamQuery(d.here), fault);
    });
}

TEST(sticky_error, a_reset_context_goes_before_it) {
    in_forked_child([] {
        const two_devices d;
        std::atomic<int> ran{0};
        blocker b;
        EXPECT_EQ(cuLaunchHostFunc(d.here, blocker::run, &b), success);
        EXPECT_EQ(cuLaunchHostFunc(d.here, count_up, &ran), success);
        hostlaunch_embedded_sticky_error(fault);
        b.let_go();
        EXPECT_EQ(cuDevicePrimaryCtxReset_v2(0), success);
        EXPECT_EQ(cuEventQuery(d.never_recorded), error_context_is_destroyed);
        EXPECT_EQ(cuEventQuery(d.there_event), fault);
        EXPECT_EQ(ran, 0);
    });
}

TEST(sticky_error, what_is_destroyed_is_gone_although_the_call_reports_the_error) {
    in_forked_child([] {
        const two_devices d;
        hostlaunch_embedded_sticky_error(fault);
        EXPECT_EQ(cuStreamDestroy_v2(d.here), fault);
        EXPECT_EQ(cuStreamDestroy_v2(d.there), fault);
        EXPECT_EQ(cuEventDestroy_v2(d.never_recorded), fault);
        EXPECT_EQ(hostlaunch_embedded_live("streams"), 0);
        EXPECT_EQ(hostlaunch_embedded_live("events"), 1);
    });
}

// contract: X3
TEST(sticky_error, memory_that_another_context_is_filling_is_freed_afterwards) {
    in_forked_child([] {
        const two_devices d;
        constexpr std::size_t bytes = std::size_t{512} << 20;
        device_ptr p = 0;
        device_ptr word = 0;
        EXPECT_EQ(cuMemAlloc_v2(&p, bytes), success);
        EXPECT_EQ(cuMemAlloc_v2(&word, sizeof(std::uint32_t)), success);
        const std::atomic_ref<std::uint32_t> begun(*reinterpret_cast<std::uint32_t*>(word));
        begun.store(0);
        EXPECT_EQ(cuCtxSetCurrent(d.second), success);
        blocker b;  // behind which the rest is another thread's
        EXPECT_EQ(cuLaunchHostFunc(d.there, blocker::run, &b), success);
        EXPECT_EQ(cuStreamWriteValue32_v2(d.there, word, 1, 0), success);
        EXPECT_EQ(cuMemsetD8Async(p, 1, bytes, d.there), success);
        b.let_go();
        const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (begun.load() == 0 && std::chrono::steady_clock::now() < limit) {
            std::this_thread::yield();
        }
        EXPECT_EQ(begun.load(), 1);  // the driver keeps its mutex from here until the fill runs
        hostlaunch_embedded_sticky_error(fault);
        EXPECT_EQ(cuMemFree_v2(p), fault);  // a fill that went on would write to no memory
    });
}

// Unlike host functions, stream callbacks are called, and told.
TEST(sticky_error, stream_callbacks_get_the_error) {
    in_forked_child([] {
        const two_devices d;
        static std::atomic<result> seen{-1};
        blocker b;
        EXPECT_EQ(cuLaunchHostFunc(d.here, blocker::run, &b), success);
        EXPECT_EQ(cuStreamAddCallback(
                      d.here, [](stream, result status, void*) { seen = status; }, nullptr, 0),
                  success);
        b.wait_until_running();
        hostlaunch_embedded_sticky_error(fault);
        b.let_go();
        EXPECT_EQ(hostlaunch_embedded_wait_idle(patience_ms), 0);
        EXPECT_EQ(seen, fault);
    });
}

TEST(sticky_error, a_stream_that_waits_on_a_value_is_let_go) {
    in_forked_child([] {
        const two_devices d;
        device_ptr word = 0;
        EXPECT_EQ(cuMemAlloc_v2(&word, 4), success);
        EXPECT_EQ(cuMemsetD8Async(word, 0, 4, d.here), success);
        EXPECT_EQ(cuStreamWaitValue32_v2(d.here, word, 1, 1), success);
        EXPECT_EQ(cuStreamQuery(d.here), error_not_ready);
        hostlaunch_embedded_sticky_error(fault);
        EXPECT_EQ(hostlaunch_embedded_wait_idle(patience_ms), 0);
    });
}

TEST(sticky_error, launches_that_wait_are_let_go) {
    in_forked_child([] {
        const two_devices d;
        std::atomic<int> ran{0};
        hostlaunch_embedded_set_manual(1);
        hostlaunch_embedded_set_launch(hostlaunch_embedded_launch_bounded, 1);
        EXPECT_EQ(cuLaunchHostFunc(d.here, count_up, &ran), success);
        background launches([&] { EXPECT_EQ(cuLaunchHostFunc(d.here, count_up, &ran), fault); });
        launches.wait_until_started();
        give_it_time();
        hostlaunch_embedded_sticky_error(fault);
        launches.join();
        EXPECT_EQ(ran, 0);
    });
}

}  // namespace
}  // namespace hostlaunch::embedded::test
