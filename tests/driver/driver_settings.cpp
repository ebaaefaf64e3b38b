// SPDX-License-Identifier: Apache-2.0
// How the text of a setting is read.
#include <gtest/gtest.h>

#include <clocale>

#include "driver/settings.hpp"

namespace hostlaunch::settings {
namespace {

// contract: D2
TEST(settings, an_empty_text_is_none) {
    setenv("HOSTLAUNCH_TEST", "", 1);
    EXPECT_EQ(text("HOSTLAUNCH_TEST"), nullptr);
    setenv("HOSTLAUNCH_TEST", "x", 1);
    EXPECT_STREQ(text("HOSTLAUNCH_TEST"), "x");
    unsetenv("HOSTLAUNCH_TEST");
    EXPECT_EQ(text("HOSTLAUNCH_TEST"), nullptr);
}

// contract: X1. The point of some locales is a comma.
TEST(settings, a_number_has_a_point_in_every_locale) {
    // The first that this machine has; without any the plain one is tried.
    for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"}) {
        if (std::setlocale(LC_ALL, name) != nullptr) break;
    }
    EXPECT_EQ(number("0.25", 0, 1), 0.25);
    EXPECT_EQ(number("0,25", 0, 1), std::nullopt);
    std::setlocale(LC_ALL, "C");
}

// contract: X1
TEST(settings, a_number_is_the_whole_text_and_within_its_limits) {
    EXPECT_EQ(number("2", 0, 2), 2.0);
    for (const char* said : {"", " ", "2 ", " 2", "2s", "2.1", "-1", "nan", "inf", "1e999"})
        EXPECT_EQ(number(said, 0, 2), std::nullopt) << said;
}

}  // namespace
}  // namespace hostlaunch::settings
