// SPDX-License-Identifier: Apache-2.0
// Runs the cases and says on which driver.
#include <gtest/gtest.h>

#include <cstdio>

#include "contract/driver.hpp"

namespace hostlaunch::contract {
namespace {

class announcement : public testing::Environment {
  public:
    void SetUp() override {
        std::printf("driver: %s, version %d, %s\n", on_embedded() ? "embedded" : "cuda",
                    driver_version(), chosen_library().c_str());
    }
};

}  // namespace
}  // namespace hostlaunch::contract

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    hostlaunch::contract::prefer_two_devices();
    testing::AddGlobalTestEnvironment(new hostlaunch::contract::announcement);
    return RUN_ALL_TESTS();
}
