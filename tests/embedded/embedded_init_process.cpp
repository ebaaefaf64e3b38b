// SPDX-License-Identifier: Apache-2.0
// Before cuInit, cuInit's devices, and the end of the process. Each case has its own process.
#include <pthread.h>

#include <cstdlib>

#include "embedded/fixture.hpp"

namespace hostlaunch::embedded::test {
namespace {

// contract: D3
TEST(initialisation, calls_before_it_say_so) {
    in_forked_child([] {
        int version = 0;
        int count = 0;
        context ctx = nullptr;
        const char* name = nullptr;
        void* function = nullptr;
        capture_status status{};
        EXPECT_EQ(cuLaunchHostFunc(nullptr, count_up, nullptr), error_not_initialized);
        EXPECT_EQ(cuDeviceGetCount(&count), error_not_initialized);
        EXPECT_EQ(cuCtxGetCurrent(&ctx), error_not_initialized);
        EXPECT_EQ(cuStreamIsCapturing(nullptr, &status), error_not_initialized);
        EXPECT_EQ(cuDriverGetVersion(&version), success);
        EXPECT_EQ(version, 13000);
        EXPECT_EQ(cuGetErrorName(0, &name), success);
        EXPECT_EQ(cuGetProcAddress_v2("cuInit", &function, 2000, 0, nullptr), success);
        EXPECT_EQ(cuInit(1), error_invalid_value);
        EXPECT_EQ(cuInit(0), success);
        EXPECT_EQ(cuInit(0), success);
        EXPECT_EQ(cuDeviceGetCount(&count), success);
        EXPECT_EQ(count, 1);
    });
}

// contract: D4
TEST(initialisation, the_environment_sets_the_number_of_devices) {
    in_forked_child([] {
        setenv("HOSTLAUNCH_EMBEDDED_DEVICES", "3", 1);
        int count = 0;
        EXPECT_EQ(cuInit(0), success);
        EXPECT_EQ(cuDeviceGetCount(&count), success);
        EXPECT_EQ(count, 3);
        context first = nullptr;
        context last = nullptr;
        device dev = -1;
        EXPECT_EQ(cuDevicePrimaryCtxRetain(&first, 0), success);
        EXPECT_EQ(cuDevicePrimaryCtxRetain(&last, 2), success);
        EXPECT_NE(first, last);
        EXPECT_EQ(cuCtxSetCurrent(last), success);
        EXPECT_EQ(cuCtxGetDevice(&dev), success);
        EXPECT_EQ(dev, 2);
    });
}

TEST(initialisation, no_device_is_an_error_and_can_be_tried_again) {
    in_forked_child([] {
        setenv("HOSTLAUNCH_EMBEDDED_DEVICES", "0", 1);
        int count = 0;
        EXPECT_EQ(cuInit(0), error_no_device);
        EXPECT_EQ(cuDeviceGetCount(&count), error_not_initialized);
        unsetenv("HOSTLAUNCH_EMBEDDED_DEVICES");
        EXPECT_EQ(cuInit(0), success);
    });
}

TEST(initialisation, a_nonsense_number_of_devices_is_one_and_a_line_on_stderr) {
    in_forked_child([] {
        for (const char* text : {"many", "-1", "1.5", "1x", "1000000"}) {
            setenv("HOSTLAUNCH_EMBEDDED_DEVICES", text, 1);
            in_forked_child([] {
                testing::internal::CaptureStderr();
                EXPECT_EQ(cuInit(0), success);
                EXPECT_EQ(cuInit(0), success);
                const std::string said = testing::internal::GetCapturedStderr();
                EXPECT_NE(said.find("HOSTLAUNCH_EMBEDDED_DEVICES"), std::string::npos);
                EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
                int count = 0;
                EXPECT_EQ(cuDeviceGetCount(&count), success);
                EXPECT_EQ(count, 1);
            });
        }
    });
}

std::atomic<int> ran_at_exit{0};
blocker* never_let_go = nullptr;

// Registered before cuInit, so it runs after the driver's own handler.
void check_after_exit_began() {
    const char* name = nullptr;
    context ctx = nullptr;
    const bool as_expected =
        cuLaunchHostFunc(stream_legacy, count_up, nullptr) == error_deinitialized &&
        cuCtxGetCurrent(&ctx) == error_deinitialized && cuGetErrorName(0, &name) == success &&
        ran_at_exit == 0;
    if (!as_expected || testing::Test::HasFailure()) {
        _exit(1);
    }
}

// contract: X1, as the driver sees it
TEST(process_end, pending_functions_never_run_and_the_exit_is_clean) {
    in_forked_child([] {
        std::atexit(check_after_exit_began);
        context ctx = nullptr;
        EXPECT_EQ(cuInit(0), success);
        EXPECT_EQ(cuDevicePrimaryCtxRetain(&ctx, 0), success);
        EXPECT_EQ(cuCtxSetCurrent(ctx), success);
        never_let_go = new blocker;
        EXPECT_EQ(cuLaunchHostFunc(nullptr, blocker::run, never_let_go), success);
        for (int i = 0; i < 100; ++i) {
            EXPECT_EQ(cuLaunchHostFunc(nullptr, count_up, &ran_at_exit), success);
        }
        never_let_go->wait_until_running();
        std::exit(0);
    });
}

// contract: X1. Python ends threads that attach too late this way; the driver is no obstacle.
TEST(process_end, a_function_that_ends_its_thread_loses_the_thread_and_nothing_crashes) {
    in_forked_child([] {
        context ctx = nullptr;
        stream s = nullptr;
        static std::atomic<bool> unwound{false};
        std::atomic<int> ran{0};
        EXPECT_EQ(cuInit(0), success);
        EXPECT_EQ(cuDevicePrimaryCtxRetain(&ctx, 0), success);
        EXPECT_EQ(cuCtxSetCurrent(ctx), success);
        EXPECT_EQ(cuStreamCreate(&s, stream_non_blocking), success);
        const auto ends_thread = [](void*) {
            struct on_the_way_out {
                ~on_the_way_out() { unwound = true; }
            } frame;
            pthread_exit(nullptr);
        };
        EXPECT_EQ(cuLaunchHostFunc(s, ends_thread, nullptr), success);
        EXPECT_EQ(cuLaunchHostFunc(s, count_up, &ran), success);
        while (!unwound) {
            std::this_thread::yield();
        }
        EXPECT_EQ(hostlaunch_embedded_wait_idle(20), 1);
        EXPECT_EQ(cuStreamQuery(s), error_not_ready);
        EXPECT_EQ(ran, 0);
    });
}

}  // namespace
}  // namespace hostlaunch::embedded::test
