// SPDX-License-Identifier: Apache-2.0
// What refusals say.
#include <gtest/gtest.h>

#include "core/status.hpp"

namespace hostlaunch::core {
namespace {

TEST(a_refusal, names_the_object_that_is_closed) {
    const error e = to_error(refuse_closed("source buffer"), "copy");
    EXPECT_STREQ(e.what(), "copy: the source buffer is closed");
    EXPECT_EQ(e.code(), static_cast<int>(misuse::closed));
    EXPECT_EQ(e.name(), "HOSTLAUNCH_ERROR_CLOSED");
}

// contract: X1. Told to programs without an interpreter too.
TEST(a_refusal, at_exit_speaks_of_the_process) {
    EXPECT_STREQ(to_error(refuse(misuse::exiting), "host_launch").what(),
                 "host_launch: the process or interpreter is exiting: no further host functions "
                 "are accepted");
}

}  // namespace
}  // namespace hostlaunch::core
