// SPDX-License-Identifier: Apache-2.0
// The table of driver functions: complete, or with stand-ins where the library lacks an entry.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "driver/load.hpp"
#include "hostlaunch/error.hpp"

namespace hostlaunch::driver_library {
namespace {

using outcome = attempt::outcome;

TEST(driver_table, of_the_embedded_driver_is_complete) {
    library lib;
    const attempt a = open_library(EMBEDDED_DRIVER, lib);
    EXPECT_EQ(a.how, outcome::ready) << a.reason;
    EXPECT_EQ(a.code, 0);
    EXPECT_EQ(lib.which, kind::embedded);
    EXPECT_EQ(lib.path, EMBEDDED_DRIVER);
    EXPECT_GE(lib.version, 12000);
    int fields = 0;
#define HOSTLAUNCH_DRIVER_ENTRY(field, name, version, need, params) \
    EXPECT_NE(lib.fn.field, nullptr) << #name;                      \
    ++fields;
#include "driver/entries.def"
#undef HOSTLAUNCH_DRIVER_ENTRY
    EXPECT_EQ(sizeof(table), static_cast<std::size_t>(fields) * sizeof(void*));
}

TEST(driver_table, names_each_entry_once) {
    std::set<std::string> names;
    std::size_t entries = 0;
#define HOSTLAUNCH_DRIVER_ENTRY(field, name, version, need, params) \
    names.insert(#name);                                            \
    ++entries;                                                      \
    EXPECT_TRUE(std::string(#need) == "required" || std::string(#need) == "optional") << #name;
#include "driver/entries.def"
#undef HOSTLAUNCH_DRIVER_ENTRY
    EXPECT_EQ(names.size(), entries);
}

// contract: D2
TEST(driver_table, a_missing_entry_has_a_stand_in_that_answers_not_supported) {
    library lib;
    const attempt a = open_library(FAKE_LACKING, lib);
    EXPECT_EQ(a.how, outcome::failed);
    EXPECT_EQ(a.code, static_cast<int>(misuse::driver_unavailable));
    ASSERT_NE(lib.fn.launch_host_func, nullptr);
    EXPECT_EQ(lib.fn.launch_host_func(nullptr, nullptr, nullptr), abi::error_not_supported);
    EXPECT_EQ(lib.fn.stream_synchronize(nullptr), abi::success);
}

// contract: D2
TEST(driver_table, outcomes_tell_absent_from_without_devices_from_failed) {
    library lib;
    EXPECT_EQ(open_library("libhostlaunch_there_is_none.so", lib).how, outcome::absent);
    EXPECT_EQ(open_library("/there/is/none.so", lib).how, outcome::absent);
    EXPECT_EQ(open_library(FAKE_NO_DEVICE, lib).how, outcome::no_device);
    EXPECT_EQ(open_library(FAKE_NO_DEVICES, lib).how, outcome::no_device);
    for (const char* bad : {FAKE_STUB, FAKE_BROKEN, FAKE_OLD, FAKE_LACKING}) {
        const attempt a = open_library(bad, lib);
        EXPECT_EQ(a.how, outcome::failed) << bad;
        EXPECT_NE(a.code, 0) << bad;
        EXPECT_NE(a.reason.find(bad), std::string::npos) << a.reason;
    }
}

TEST(driver_table, errors_have_names_before_a_driver_is_loaded) {
    ASSERT_FALSE(is_loaded());
    EXPECT_EQ(error_name(34), "CUDA_ERROR_STUB_LIBRARY");
    EXPECT_EQ(error_name(100), "CUDA_ERROR_NO_DEVICE");
    EXPECT_EQ(error_name(12345), "CUDA_ERROR_12345");
    EXPECT_EQ(error_text(34), "");
}

TEST(loaded_driver, names_and_explains_its_errors) {
    load();
    ASSERT_TRUE(is_loaded());
    EXPECT_EQ(error_name(700), "CUDA_ERROR_ILLEGAL_ADDRESS");
    EXPECT_NE(error_text(700), "");
    EXPECT_EQ(error_name(12345), "CUDA_ERROR_12345");
    EXPECT_EQ(error_text(12345), "");
    EXPECT_EQ(&load(), &load());
}

}  // namespace
}  // namespace hostlaunch::driver_library
