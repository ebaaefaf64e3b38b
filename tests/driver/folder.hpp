// SPDX-License-Identifier: Apache-2.0
// What tests of the choice of a driver share: folders of libraries, and what a program said.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>

#include "support/child.hpp"

namespace hostlaunch::test {

// What the program said: the first line that begins with `key`, from line `from` on.
inline std::string line_of(const ended_program& p, const std::string& key, int from = 0) {
    std::istringstream lines(p.out);
    for (std::string line; std::getline(lines, line);) {
        if (from-- <= 0 && line.starts_with(key + " ")) return line.substr(key.size() + 1);
    }
    return {};
}

// A folder for the files of a test, gone at its end.
class with_folder : public testing::Test {
  protected:
    void SetUp() override {
        const auto place = std::filesystem::temp_directory_path() / "hostlaunch_driver_XXXXXX";
        std::string name = place.string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder_ = std::filesystem::canonical(name);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::filesystem::path folder_;
};

}  // namespace hostlaunch::test
