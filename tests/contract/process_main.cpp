// SPDX-License-Identifier: Apache-2.0
// Runs the cases, or with --scenario=NAME what one of them starts.
#include <cstring>

#include "contract/scenario.hpp"

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    constexpr const char* option = "--scenario=";
    if (argc == 2 && std::strncmp(argv[1], option, std::strlen(option)) == 0) {
        hostlaunch::contract::prefer_two_devices();
        return hostlaunch::contract::scenario::run_named(argv[1] + std::strlen(option));
    }
    return RUN_ALL_TESTS();
}
