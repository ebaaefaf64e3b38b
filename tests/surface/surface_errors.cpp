// SPDX-License-Identifier: Apache-2.0
// Errors of the library that the embedded driver is told to give, or alone can give.
#include <gtest/gtest.h>

#include <string>

#include "surface/fixture.hpp"

namespace hostlaunch::test {
namespace {

using errors = on_a_stream;

// contract: C3
TEST_F(errors, tell_what_was_attempted_and_what_the_driver_said) {
    ASSERT_EQ(hostlaunch_embedded_fail_call("cuLaunchHostFunc", 1, abi::error_launch_failed), 0);
    try {
        host_launch(*s_, [] {});
        ADD_FAILURE() << "nothing was thrown";
    } catch (const error& e) {
        const std::string text = e.what();
        EXPECT_EQ(e.code(), 719);
        EXPECT_EQ(e.name(), "CUDA_ERROR_LAUNCH_FAILED");
        EXPECT_TRUE(
            text.starts_with("host_launch: cuLaunchHostFunc returned "
                             "CUDA_ERROR_LAUNCH_FAILED (719)"))
            << text;
    }
}

// contract: D3
TEST_F(errors, a_handle_that_the_driver_did_not_make_is_an_invalid_handle) {
    auto* unknown = reinterpret_cast<CUstream_st*>(std::uintptr_t{0x123450});
    EXPECT_EQ(code_thrown_by([&] { host_launch(unknown, [] {}); }), abi::error_invalid_handle);
    EXPECT_EQ(code_thrown_by([&] { stream::from_handle(unknown).sync(); }),
              abi::error_invalid_handle);
}

}  // namespace
}  // namespace hostlaunch::test
