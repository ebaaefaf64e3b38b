// SPDX-License-Identifier: Apache-2.0
// Runs tests on the embedded driver with two devices, whatever the machine has.
#include <gtest/gtest.h>

#include <cstdlib>

int main(int argc, char** argv) {
    setenv("HOSTLAUNCH_DRIVER", "embedded", 1);
    setenv("HOSTLAUNCH_EMBEDDED_DEVICES", "2", 0);
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
