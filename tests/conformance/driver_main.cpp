// SPDX-License-Identifier: Apache-2.0
// Runs the cases and says on which driver.
#include <gtest/gtest.h>

#include <cstdio>

#include "conformance/driver.hpp"

namespace hostlaunch::conformance {
namespace {

class announcement : public testing::Environment {
  public:
    void SetUp() override {
        std::printf("driver: %s, version %d, %s\n", on_embedded() ? "embedded" : "cuda",
                    driver_version(), chosen_library().c_str());
    }
};

}  // namespace
}  // namespace hostlaunch::conformance

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    hostlaunch::conformance::prefer_two_devices();
    testing::AddGlobalTestEnvironment(new hostlaunch::conformance::announcement);
    return RUN_ALL_TESTS();
}
