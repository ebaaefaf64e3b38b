// SPDX-License-Identifier: Apache-2.0
// Callables that the driver refuses.
#include <gtest/gtest.h>

#include <array>

#include "surface/fixture.hpp"

namespace hostlaunch::test {
namespace {

using lifetime = on_a_stream;

// contract: C2, L3
TEST_F(lifetime, a_callable_that_the_driver_refused_is_destroyed_before_the_call_throws) {
    for (const char* entry : {"cuStreamIsCapturing", "cuLaunchHostFunc"}) {
        fate small;
        fate big;
        const std::array<char, 200> bytes{};
        ASSERT_EQ(hostlaunch_embedded_fail_call(entry, 1, abi::error_out_of_memory), 0);
        ASSERT_EQ(hostlaunch_embedded_fail_call(entry, 2, abi::error_out_of_memory), 0);
        EXPECT_EQ(code_thrown_by([&] { host_launch(*s_, watched(small)); }),
                  abi::error_out_of_memory);
        EXPECT_EQ(small.destroyed, 1);
        EXPECT_EQ(code_thrown_by([&] { host_launch(*s_, [bytes, w = watched(big)] {}); }),
                  abi::error_out_of_memory);
        EXPECT_EQ(big.destroyed, 1);
        s_->sync();
        EXPECT_EQ(small.ran, 0);
    }
    EXPECT_EQ(accepted(), 0u);
}

}  // namespace
}  // namespace hostlaunch::test
