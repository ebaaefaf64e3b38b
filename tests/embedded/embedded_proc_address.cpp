// SPDX-License-Identifier: Apache-2.0
// cuGetProcAddress, and the library as a loader sees it.
#include <dlfcn.h>

#include "embedded/fixture.hpp"

namespace hostlaunch::embedded::test {
namespace {

using proc_address = embedded_driver;

void* find(const char* symbol, int version, proc_address_result expected, result answer = success) {
    void* function = reinterpret_cast<void*>(1);
    proc_address_result status{};
    EXPECT_EQ(cuGetProcAddress_v2(symbol, &function, version, 0, &status), answer) << symbol;
    if (answer == success) {
        EXPECT_EQ(status, expected) << symbol;
    }
    return function;
}

TEST_F(proc_address, the_version_selects_the_newest_interface_at_or_before_it) {
    using enum proc_address_result;
    EXPECT_EQ(find("cuStreamGetCtx", 9020, found), reinterpret_cast<void*>(&cuStreamGetCtx));
    EXPECT_EQ(find("cuStreamGetCtx", 12040, found), reinterpret_cast<void*>(&cuStreamGetCtx));
    EXPECT_EQ(find("cuStreamGetCtx", 12050, found), reinterpret_cast<void*>(&cuStreamGetCtx_v2));
    EXPECT_EQ(find("cuStreamGetCaptureInfo", 12000, found),
              reinterpret_cast<void*>(&cuStreamGetCaptureInfo_v2));
    EXPECT_EQ(find("cuStreamDestroy", 4000, found), reinterpret_cast<void*>(&cuStreamDestroy_v2));
    EXPECT_EQ(find("cuStreamDestroy_v2", 4000, found),
              reinterpret_cast<void*>(&cuStreamDestroy_v2));
    EXPECT_EQ(find("cuStreamWaitValue32", 8000, version_not_sufficient), nullptr);
    EXPECT_EQ(find("cuNoSuchThing", 12000, not_found), nullptr);
    EXPECT_EQ(find("cuLaunchHostFunc_v2", 13000, not_found), nullptr);
    find("cuLaunchHostFunc_v2", 13020, not_found, error_invalid_value);
}

TEST_F(proc_address, misuse_is_an_invalid_value_and_flag_2_falls_back) {
    void* function = nullptr;
    EXPECT_EQ(cuGetProcAddress_v2(nullptr, &function, 12000, 0, nullptr), error_invalid_value);
    EXPECT_EQ(cuGetProcAddress_v2("cuInit", nullptr, 12000, 0, nullptr), error_invalid_value);
    EXPECT_EQ(cuGetProcAddress_v2("cuInit", &function, 12000, 7, nullptr), error_invalid_value);
    ASSERT_EQ(cuGetProcAddress("cuLaunchHostFunc", &function, 12000, 2), success);
    EXPECT_EQ(function, reinterpret_cast<void*>(&cuLaunchHostFunc));
}

// contract: D1. What the core's table asks for is there, through the one symbol that it looks up.
TEST_F(proc_address, the_core_finds_all_its_entries_through_dlopen) {
    void* library = dlopen(HOSTLAUNCH_EMBEDDED_PATH, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    const auto get = reinterpret_cast<get_proc_address_fn>(dlsym(library, "cuGetProcAddress_v2"));
    ASSERT_NE(get, nullptr);
    const auto expect_entry = [&](const char* symbol, int version) {
        void* function = nullptr;
        proc_address_result status{};
        EXPECT_EQ(get(symbol, &function, version, 0, &status), success) << symbol;
        EXPECT_NE(function, nullptr) << symbol;
        EXPECT_EQ(status, proc_address_result::found) << symbol;
    };
#define HOSTLAUNCH_DRIVER_ENTRY(field, base, version, need, parameters) \
    expect_entry(#base, version);
#include "driver/entries.def"
#undef HOSTLAUNCH_DRIVER_ENTRY
    EXPECT_EQ(dlclose(library), 0);
}

}  // namespace
}  // namespace hostlaunch::embedded::test
