// SPDX-License-Identifier: Apache-2.0
// The setting of how long exit waits.
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/process/gate.hpp"

namespace hostlaunch::core {
namespace {

double limit_of(const char* text) {
    if (text == nullptr) {
        unsetenv("HOSTLAUNCH_EXIT_TIMEOUT");
    } else {
        setenv("HOSTLAUNCH_EXIT_TIMEOUT", text, 1);
    }
    const double seconds = exit_limit().count();
    unsetenv("HOSTLAUNCH_EXIT_TIMEOUT");
    return seconds;
}

// contract: X1
TEST(exit_timeout, is_a_number_of_seconds) {
    EXPECT_EQ(limit_of("0"), 0.0);
    EXPECT_EQ(limit_of("0.25"), 0.25);
    EXPECT_EQ(limit_of("1e6"), 1e6);
}

// contract: X1
TEST(exit_timeout, is_five_seconds_if_unset_or_no_such_number) {
    for (const char* text :
         {static_cast<const char*>(nullptr), "", " ", "-1", "soon", "1s", "nan", "inf", "1e7"}) {
        EXPECT_EQ(limit_of(text), 5.0) << (text == nullptr ? "unset" : text);
    }
}

}  // namespace
}  // namespace hostlaunch::core
