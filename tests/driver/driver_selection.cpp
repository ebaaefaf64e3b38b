// SPDX-License-Identifier: Apache-2.0
// Which driver is chosen: every case is a process of its own, with its own folder of libraries.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "driver/folder.hpp"
#include "hostlaunch/error.hpp"

namespace hostlaunch::test {
namespace {

namespace fs = std::filesystem;

// A folder that the loader searches first.
class selection : public with_folder {
  protected:
    void put(const char* library, const char* as = "libcuda.so.1") {
        fs::copy_file(library, folder_ / as);
    }
    ended_program run(const std::string& setting, const std::string& how = "",
                      std::vector<std::string> settings = {}) {
        settings.push_back(setting.empty() ? "HOSTLAUNCH_DRIVER" : "HOSTLAUNCH_DRIVER=" + setting);
        settings.push_back("LD_LIBRARY_PATH=" + folder_.string());
        ended_program p = run_program({DRIVER_PROGRAM, how}, settings);
        EXPECT_EQ(p.code, 0) << describe(p);
        return p;
    }
    void expect_error(const ended_program& p, int code, const std::string& text) {
        EXPECT_EQ(line_of(p, "code"), std::to_string(code)) << describe(p);
        EXPECT_NE(line_of(p, "message").find(text), std::string::npos) << describe(p);
        EXPECT_EQ(line_of(p, "name"), "");
    }
    void expect_embedded(const ended_program& p, const std::string& reason) {
        EXPECT_EQ(line_of(p, "name"), "embedded") << describe(p);
        EXPECT_NE(line_of(p, "path").find("libhostlaunch_embedded.so"), std::string::npos);
        EXPECT_NE(line_of(p, "reason").find(reason), std::string::npos) << describe(p);
        EXPECT_EQ(line_of(p, "reason").empty(), reason.empty()) << describe(p);
    }
    // A machine may have a driver of its own behind the folder.
    static bool has_cuda() {
        static const bool found = [] {
            const ended_program p = run_program({DRIVER_PROGRAM}, {"HOSTLAUNCH_DRIVER=cuda"});
            return p.out.find("there is no library") == std::string::npos;
        }();
        return found;
    }

    static constexpr int unavailable = static_cast<int>(misuse::driver_unavailable);
};

// contract: D2
TEST_F(selection, embedded_is_taken_silently_if_asked_for) {
    const ended_program p = run("embedded");
    expect_embedded(p, "");
    EXPECT_EQ(p.err, "");
}

// contract: D2
TEST_F(selection, auto_is_what_unset_and_empty_mean) {
    put(FAKE_WORKING);
    for (const std::string setting : {"auto", ""}) {
        const ended_program p = run(setting);
        EXPECT_EQ(line_of(p, "name"), "cuda") << describe(p);
        EXPECT_EQ(line_of(p, "version"), "12345");
        EXPECT_EQ(line_of(p, "path"), (folder_ / "libcuda.so.1").string());
        EXPECT_EQ(line_of(p, "reason"), "");
    }
    const ended_program p = run_program(
        {DRIVER_PROGRAM}, {"HOSTLAUNCH_DRIVER=", "LD_LIBRARY_PATH=" + folder_.string()});
    EXPECT_EQ(line_of(p, "name"), "cuda");
}

// contract: D2
TEST_F(selection, auto_falls_back_if_there_is_no_driver_library_and_says_why) {
    if (has_cuda()) GTEST_SKIP() << "this machine has a CUDA driver";
    expect_embedded(run("auto"), "no NVIDIA driver library (libcuda.so.1) was found");
}

// contract: D2
TEST_F(selection, auto_falls_back_if_the_driver_finds_no_device_and_says_why) {
    for (const char* library : {FAKE_NO_DEVICE, FAKE_NO_DEVICES}) {
        put(library);
        expect_embedded(run("auto"), "finds no CUDA device");
        fs::remove(folder_ / "libcuda.so.1");
    }
}

// contract: D2
TEST_F(selection, cuda_without_a_driver_library_is_an_error) {
    if (has_cuda()) GTEST_SKIP() << "this machine has a CUDA driver";
    expect_error(run("cuda"), unavailable, "there is no library libcuda.so.1");
}

// contract: D2
TEST_F(selection, cuda_without_a_device_is_an_error) {
    put(FAKE_NO_DEVICE);
    const ended_program p = run("cuda");
    expect_error(p, 100, "finds no CUDA device");
    EXPECT_EQ(line_of(p, "error"), "CUDA_ERROR_NO_DEVICE");
}

// contract: D2
TEST_F(selection, the_toolkits_stub_library_is_named_as_such_and_never_a_reason_to_fall_back) {
    put(FAKE_STUB);
    for (const char* setting : {"auto", "cuda"}) {
        const ended_program p = run(setting);
        expect_error(p, 34, "stub library");
        EXPECT_NE(line_of(p, "message").find(folder_.string()), std::string::npos);
        EXPECT_EQ(line_of(p, "error"), "CUDA_ERROR_STUB_LIBRARY");
    }
}

// contract: D2
TEST_F(selection, a_driver_that_does_not_start_is_an_error_and_never_a_reason_to_fall_back) {
    put(FAKE_BROKEN);
    for (const char* setting : {"auto", "cuda"}) {
        expect_error(run(setting), 999, "returned CUDA_ERROR_UNKNOWN (999)");
    }
}

// contract: D2
TEST_F(selection, a_driver_that_is_too_old_is_an_error) {
    put(FAKE_OLD);
    for (const char* setting : {"auto", "cuda"}) {
        expect_error(run(setting), unavailable, "CUDA 12.0 or later is needed");
    }
}

// contract: D2
TEST_F(selection, a_driver_that_lacks_an_entry_is_an_error_that_names_it) {
    put(FAKE_LACKING);
    for (const char* setting : {"auto", "cuda"}) {
        expect_error(run(setting), unavailable, "lacks cuLaunchHostFunc");
    }
}

// contract: D2
TEST_F(selection, a_file_that_is_no_library_is_an_error) {
    for (const char* content : {"", "this is no library"}) {
        std::ofstream(folder_ / "libcuda.so.1") << content;
        for (const char* setting : {"auto", "cuda"}) {
            expect_error(run(setting), unavailable, "loading libcuda.so.1 failed");
        }
    }
}

// contract: D2
TEST_F(selection, a_driver_library_whose_own_libraries_are_missing_is_an_error) {
    put(FAKE_DEPENDENT);
    for (const char* setting : {"auto", "cuda"}) {
        expect_error(run(setting), unavailable, "libhostlaunch_fake_needed.so");
    }
}

// contract: D2
TEST_F(selection, a_path_is_that_library) {
    put(FAKE_WORKING, "mine.so");
    const std::string path = (folder_ / "mine.so").string();
    const ended_program fake = run(path);
    EXPECT_EQ(line_of(fake, "name"), "cuda");
    EXPECT_EQ(line_of(fake, "path"), path);
    const ended_program embedded = run(EMBEDDED_DRIVER);
    expect_embedded(embedded, "");
    EXPECT_EQ(embedded.err, "");
}

// contract: D2. What is told means the same file after a change of the folder.
TEST_F(selection, a_relative_path_is_told_as_an_absolute_one) {
    put(FAKE_WORKING, "mine.so");
    const std::string relative = fs::relative(folder_ / "mine.so").string();
    const std::string path = line_of(run("./" + relative), "path");
    EXPECT_TRUE(path.starts_with('/')) << path;
    EXPECT_TRUE(fs::equivalent(path, folder_ / "mine.so")) << path;
}

// contract: D2
TEST_F(selection, a_path_to_nothing_or_to_a_broken_driver_is_an_error) {
    expect_error(run((folder_ / "none.so").string()), unavailable, "there is no library");
    put(FAKE_NO_DEVICE, "mine.so");
    expect_error(run((folder_ / "mine.so").string()), 100, "finds no CUDA device");
}

// contract: D2
TEST_F(selection, anything_else_is_an_error_that_lists_what_there_is) {
    for (const char* setting : {"nonsense", "CUDA", " auto", "libcuda.so.1"}) {
        const ended_program p = run(setting);
        expect_error(p, unavailable, "it must be auto, cuda, embedded, or a path");
        EXPECT_NE(line_of(p, "message").find(setting), std::string::npos);
        EXPECT_EQ(line_of(p, "error"), "HOSTLAUNCH_ERROR_DRIVER_UNAVAILABLE");
    }
}

// contract: D2
TEST_F(selection, a_failure_is_told_again_and_a_later_setting_changes_nothing) {
    put(FAKE_BROKEN);
    const ended_program p = run("cuda", "twice");
    EXPECT_EQ(line_of(p, "code", 3), "999") << describe(p);
    EXPECT_NE(line_of(p, "message", 3), "") << describe(p);
    EXPECT_EQ(line_of(p, "message"), line_of(p, "message", 3));
}

// contract: D2
TEST_F(selection, the_first_calls_of_many_threads_load_one_driver) {
    const ended_program p = run("embedded", "threads");
    EXPECT_EQ(line_of(p, "loaded"), "8") << describe(p);
}

// contract: X2. The thread that it would wait for is not there.
TEST_F(selection, a_child_forked_during_the_first_load_is_refused_and_exits) {
    put(FAKE_SLOW);
    // The child has the memory of a thread that it has not: for a leak checker that is a leak.
    const ended_program p = run("cuda", "fork", {"ASAN_OPTIONS=detect_leaks=0"});
    EXPECT_EQ(line_of(p, "child"), "0") << describe(p);
    EXPECT_EQ(line_of(p, "code"), std::to_string(static_cast<int>(misuse::forked))) << describe(p);
    EXPECT_EQ(line_of(p, "name"), "cuda") << describe(p);  // of the parent, afterwards
}

// contract: D4
TEST_F(selection, the_embedded_driver_has_as_many_devices_as_asked_for) {
    for (const char* count : {"1", "3"}) {
        const ended_program p =
            run("embedded", "devices", {std::string("HOSTLAUNCH_EMBEDDED_DEVICES=") + count});
        EXPECT_EQ(line_of(p, "devices"), count) << describe(p);
        EXPECT_EQ(line_of(p, "code"), "101");  // of the first device that is not there
    }
    for (const char* unset : {"HOSTLAUNCH_EMBEDDED_DEVICES", "HOSTLAUNCH_EMBEDDED_DEVICES="}) {
        const ended_program p = run("embedded", "devices", {unset});
        EXPECT_EQ(line_of(p, "devices"), "1");
        EXPECT_EQ(p.err, "");
    }
}

// contract: D4
TEST_F(selection, an_embedded_driver_without_devices_is_an_error) {
    const ended_program p = run("embedded", "", {"HOSTLAUNCH_EMBEDDED_DEVICES=0"});
    expect_error(p, 100, "finds no CUDA device");
}

// contract: D4
TEST_F(selection, a_number_of_devices_that_is_none_is_told_on_stderr) {
    for (const char* number : {"many", "1.5", "65", "-1", "2 "}) {
        const ended_program p =
            run("embedded", "devices", {std::string("HOSTLAUNCH_EMBEDDED_DEVICES=") + number});
        EXPECT_EQ(line_of(p, "devices"), "1") << describe(p);
        EXPECT_NE(p.err.find("HOSTLAUNCH_EMBEDDED_DEVICES"), std::string::npos);
    }
}

}  // namespace
}  // namespace hostlaunch::test
