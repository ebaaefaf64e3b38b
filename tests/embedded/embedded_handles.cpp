// SPDX-License-Identifier: Apache-2.0
// Handles that the driver did not make, or made long ago, and arguments that mean nothing.
#include "embedded/fixture.hpp"

namespace hostlaunch::embedded::test {
namespace {

using handles = embedded_driver;

void nothing(void*) {}

std::vector<std::uint64_t> garbage() {
    static int object = 0;
    return {3, 16, 0xdeadbeef, reinterpret_cast<std::uintptr_t>(&object), ~std::uint64_t{0}};
}

// contract: D3
TEST_F(handles, garbage_is_an_invalid_handle_and_never_a_crash) {
    const event good_event = make_event();
    const stream good_stream = make_stream();
    for (const std::uint64_t bits : garbage()) {
        const auto s = reinterpret_cast<stream>(bits);
        const auto e = reinterpret_cast<event>(bits);
        capture_status status;
        context ctx = nullptr;
        EXPECT_EQ(cuLaunchHostFunc(s, nothing, nullptr), error_invalid_handle);
        EXPECT_EQ(cuStreamQuery(s), error_invalid_handle);
        EXPECT_EQ(cuStreamSynchronize(s), error_invalid_handle);
        EXPECT_EQ(cuStreamDestroy_v2(s), error_invalid_handle);
        EXPECT_EQ(cuStreamGetCtx(s, &ctx), error_invalid_handle);
        EXPECT_EQ(cuStreamIsCapturing(s, &status), error_invalid_handle);
        EXPECT_EQ(cuEventQuery(e), error_invalid_handle);
        EXPECT_EQ(cuEventDestroy_v2(e), error_invalid_handle);
        EXPECT_EQ(cuEventRecord(e, good_stream), error_invalid_handle);
        EXPECT_EQ(cuEventRecord(good_event, s), error_invalid_handle);
        EXPECT_EQ(cuStreamWaitEvent(good_stream, e, 0), error_invalid_handle);
        EXPECT_EQ(cuCtxSetCurrent(reinterpret_cast<context>(bits)), error_invalid_context);
    }
}

// contract: D3
TEST_F(handles, null_events_and_default_streams_cannot_be_destroyed) {
    EXPECT_EQ(cuEventQuery(nullptr), error_invalid_handle);
    EXPECT_EQ(cuEventSynchronize(nullptr), error_invalid_handle);
    EXPECT_EQ(cuEventDestroy_v2(nullptr), error_invalid_handle);
    EXPECT_EQ(cuStreamDestroy_v2(nullptr), error_invalid_handle);
    EXPECT_EQ(cuStreamDestroy_v2(stream_legacy), error_invalid_handle);
}

// contract: D3
TEST_F(handles, a_closed_handle_stays_invalid_while_others_come_and_go) {
    stream first = nullptr;
    ASSERT_EQ(cuStreamCreate(&first, 0), success);
    ASSERT_EQ(cuStreamDestroy_v2(first), success);
    for (int i = 0; i < 10'000; ++i) {
        stream next = nullptr;
        ASSERT_EQ(cuStreamCreate(&next, 0), success);
        ASSERT_NE(next, first);
        ASSERT_EQ(cuStreamDestroy_v2(next), success);
    }
    EXPECT_EQ(cuStreamQuery(first), error_invalid_handle);
}

TEST_F(handles, a_stream_is_no_event) {
    EXPECT_EQ(cuEventQuery(reinterpret_cast<event>(make_stream())), error_invalid_handle);
    EXPECT_EQ(cuStreamQuery(reinterpret_cast<stream>(make_event())), error_invalid_handle);
}

TEST_F(handles, a_null_function_is_an_invalid_value) {
    EXPECT_EQ(cuLaunchHostFunc(make_stream(), nullptr, nullptr), error_invalid_value);
}

TEST_F(handles, every_result_has_a_name) {
    const char* name = nullptr;
    const char* text = nullptr;
    ASSERT_EQ(cuGetErrorName(error_stream_capture_implicit, &name), success);
    ASSERT_EQ(cuGetErrorString(error_illegal_address, &text), success);
    EXPECT_STREQ(name, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT");
    EXPECT_STREQ(text, "an illegal memory access was encountered");
    EXPECT_EQ(cuGetErrorName(12345, &name), error_invalid_value);
    EXPECT_EQ(name, nullptr);
}

}  // namespace
}  // namespace hostlaunch::embedded::test
