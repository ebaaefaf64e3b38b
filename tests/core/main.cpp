// SPDX-License-Identifier: Apache-2.0
// Runs tests on the embedded driver, whatever the machine has.
#include <gtest/gtest.h>

#include <cstdlib>

int main(int argc, char** argv) {
    setenv("HOSTLAUNCH_DRIVER", "embedded", 1);
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
