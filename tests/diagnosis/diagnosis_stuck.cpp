// SPDX-License-Identifier: Apache-2.0
// A C++ program that stands still is told by the watchdog that its environment asks for.
#include <gtest/gtest.h>

#include "support/child.hpp"

namespace hostlaunch::test {
namespace {

// contract: V1, V2
TEST(watchdog, tells_what_a_program_waits_for) {
    const ended_program p = run_program({STUCK_PROGRAM, "1.5"}, {"HOSTLAUNCH_WATCHDOG=0.3"});
    EXPECT_EQ(p.code, 0) << describe(p);
    EXPECT_NE(p.err.find("  checkpoint has run for "), std::string::npos) << describe(p);
    EXPECT_NE(p.err.find("2 functions are pending on stream 0x"), std::string::npos) << describe(p);
    EXPECT_NE(p.err.find(" has waited for stream 0x"), std::string::npos) << describe(p);
    EXPECT_NE(p.err.find("What fits: the function itself has not returned."), std::string::npos);
    EXPECT_EQ(p.err.find("GIL is held"), std::string::npos) << describe(p);
}

// contract: V1
TEST(watchdog, is_silent_while_all_moves) {
    const ended_program p = run_program({STUCK_PROGRAM, "0.1"}, {"HOSTLAUNCH_WATCHDOG=20"});
    EXPECT_EQ(p.code, 0) << describe(p);
    EXPECT_EQ(p.err, "");
}

// contract: V1
TEST(watchdog, is_not_there_for_a_limit_that_is_no_number) {
    for (const char* setting : {"HOSTLAUNCH_WATCHDOG=", "HOSTLAUNCH_WATCHDOG=0",
                                "HOSTLAUNCH_WATCHDOG=-1", "HOSTLAUNCH_WATCHDOG=soon"}) {
        const ended_program p = run_program({STUCK_PROGRAM, "0.2"}, {setting});
        EXPECT_EQ(p.code, 0) << describe(p);
        EXPECT_EQ(p.err, "") << setting;
    }
}

}  // namespace
}  // namespace hostlaunch::test
