// SPDX-License-Identifier: Apache-2.0
// Where the embedded driver is looked for: beside our own object and along its run path, whatever
// the current folder, the way the program was found, its argv[0] and the caller's rights.
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "driver/folder.hpp"
#include "driver/place.hpp"

namespace hostlaunch::test {
namespace {

namespace fs = std::filesystem;
using driver_library::run_path_folders;
using paths = std::vector<std::string>;

constexpr const char* embedded_file = "libhostlaunch_embedded.so";

// A program in one folder, and in another one what must not be loaded.
class place : public with_folder {
  protected:
    void SetUp() override {
        with_folder::SetUp();
        planted_ = folder_ / "planted";
        fs::create_directory(planted_);
        for (const char* as : {embedded_file, "driver.so"})
            fs::copy_file(PLANTED, planted_ / as);
        EXPECT_EQ(chmod(folder_.c_str(), 0755), 0);
    }
    // A copy of the program in a folder of its own.
    fs::path install(const std::string& folder, bool with_driver = true) {
        const fs::path to = folder_ / folder;
        fs::create_directory(to);
        fs::copy_file(DRIVER_PROGRAM, to / "program");
        if (with_driver) fs::copy_file(EMBEDDED_DRIVER, to / embedded_file);
        return to;
    }
    // Runs a line of bash in the folder with what is planted; $1 is `path`.
    ended_program run(const std::string& line, const fs::path& path, const paths& more = {}) {
        paths settings = {"HOSTLAUNCH_DRIVER=embedded", "LD_LIBRARY_PATH",
                          "HERE=" + planted_.string()};
        settings.insert(settings.end(), more.begin(), more.end());
        const ended_program p = run_program(
            {"/bin/bash", "-c", "cd \"$HERE\" && " + line, "bash", path.string()}, settings);
        EXPECT_EQ(p.code, 0) << describe(p);
        EXPECT_EQ(p.err.find("planted"), std::string::npos) << describe(p);
        return p;
    }
    static void expect_path(const ended_program& p, const fs::path& path) {
        EXPECT_EQ(line_of(p, "path"), path.string()) << describe(p);
    }
    // Why a program with more rights than its caller cannot be made here; null if it can.
    const char* no_privileges() const {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        return "a sanitizer's runtime ends programs with more rights than their caller";
#else
        struct statvfs system{};
        if (geteuid() != 0) return "only root can make a program of another user's";
        if (statvfs(folder_.c_str(), &system) != 0 || (system.f_flag & ST_NOSUID) != 0)
            return "the file system of the temporary folder allows no such program";
        return access(EMBEDDED_DRIVER, R_OK) == 0 ? nullptr : "the embedded driver is not there";
#endif
    }
    static void make_privileged(const fs::path& program) {
        constexpr uid_t nobody = 65534;
        ASSERT_EQ(chown(program.c_str(), nobody, nobody), 0);
        ASSERT_EQ(chmod(program.c_str(), 04755), 0);
    }

    fs::path planted_;
};

// contract: D2'
TEST_F(place, the_current_folder_is_none) {
    const fs::path bin = install("bin", false);
    for (const char* line : {"PATH=$1 exec program", "exec -a program $1/program",
                             "exec -a '' $1/program", "exec -a ./program $1/program",
                             "exec ../bin/program", "ln -s $1/program . && exec ./program"}) {
        SCOPED_TRACE(line);
        EXPECT_EQ(line_of(run(line, bin), "name"), "embedded");
    }
}

// contract: D2'
TEST_F(place, is_beside_the_program_however_that_was_found) {
    const fs::path bin = install("bin");
    for (const char* line :
         {"PATH=$1 exec program", "exec -a program $1/program", "exec -a '' $1/program",
          "exec -a /nowhere/program $1/program", "exec ../bin/program", "exec ../bin/program chdir",
          "PATH=../bin exec program chdir", "ln -s $1/program . && exec ./program",
          "exec /lib64/ld-linux-x86-64.so.2 ../bin/program chdir"}) {
        SCOPED_TRACE(line);
        expect_path(run(line, bin), bin / embedded_file);
    }
}

// contract: D2'
TEST_F(place, may_have_any_bytes_in_its_name) {
    for (const char* name : {"caf\xe9", "two words", "(deleted)", "it (deleted)", "back\\slash"}) {
        SCOPED_TRACE(name);
        const fs::path bin = install(name);
        expect_path(run("exec \"$1\"/program", bin), bin / embedded_file);
    }
    const fs::path lines = install("two\nlines");
    const ended_program p = run("exec \"$1\"/program", lines);
    EXPECT_NE(p.out.find("\nlines/" + std::string(embedded_file)), std::string::npos);
}

// contract: D2'
TEST_F(place, is_beside_a_library_that_was_loaded_by_a_relative_path) {
    const fs::path lib = folder_ / "lib";
    fs::create_directory(lib);
    fs::copy_file(PLUGIN, lib / "plugin.so");
    fs::copy_file(EMBEDDED_DRIVER, lib / embedded_file);
    expect_path(run("exec " PLUGIN_PROGRAM " ../lib/plugin.so", lib), lib / embedded_file);
    expect_path(run("exec " PLUGIN_PROGRAM " $1/plugin.so", lib), lib / embedded_file);
    // Each file of a package may be a link into a store that knows it by another name.
    const fs::path links = folder_ / "links";
    fs::create_directory(links);
    fs::create_directory(folder_ / "store");
    fs::copy_file(PLUGIN, folder_ / "store/1");
    fs::create_symlink(folder_ / "store/1", links / "plugin.so");
    fs::create_symlink(EMBEDDED_DRIVER, links / embedded_file);
    expect_path(run("exec " PLUGIN_PROGRAM " $1/plugin.so", links), links / embedded_file);
}

// contract: D2'
TEST_F(place, is_the_old_folder_after_the_program_was_replaced) {
    const fs::path bin = install("bin");
    expect_path(run("exec $1/program replaced", bin), bin / embedded_file);
}

// contract: D2'
TEST(run_path, has_absolute_folders_only) {
    EXPECT_EQ(run_path_folders("/a:/b/c", "/own"), (paths{"/a", "/b/c"}));
    EXPECT_EQ(run_path_folders("", "/own"), paths{});
    EXPECT_EQ(run_path_folders(":.::lib:../lib:/a:", "/own"), paths{"/a"});
}

// contract: D2'
TEST(run_path, may_begin_where_the_object_lies) {
    EXPECT_EQ(run_path_folders("$ORIGIN/../lib:${ORIGIN}", "/o$n"), (paths{"/o$n/../lib", "/o$n"}));
    EXPECT_EQ(run_path_folders("$ORIGIN/lib:/a", ""), paths{"/a"});
    EXPECT_EQ(run_path_folders("/$LIB:$ORIGINAL/a:/a/$ORIGIN:/b", "/own"), paths{"/b"});
}

// contract: D2. It would be run with the rights of the program's owner.
TEST_F(place, a_privileged_program_ignores_every_setting) {
    if (const char* why = no_privileges()) GTEST_SKIP() << why;
    const fs::path bin = install("bin", false);
    make_privileged(bin / "program");
    const std::string planted = (planted_ / "driver.so").string();
    for (const std::string& setting : paths{planted, "./driver.so", "cuda"}) {
        const ended_program p =
            run("exec $1/program devices", bin,
                {"HOSTLAUNCH_DRIVER=" + setting, "HOSTLAUNCH_EMBEDDED_DEVICES=3"});
        EXPECT_NE(line_of(p, "devices"), "3") << describe(p);
        EXPECT_NE(line_of(p, "devices"), "0") << describe(p);
    }
}

// contract: D2'. Whoever may link to the program chooses the folder that it seems to lie in.
TEST_F(place, of_a_privileged_program_is_not_beside_it) {
    if (const char* why = no_privileges()) GTEST_SKIP() << why;
    fs::copy_file(DRIVER_PROGRAM, planted_ / "program");
    make_privileged(planted_ / "program");
    const ended_program p = run("exec ./program", planted_);
    EXPECT_NE(line_of(p, "path"), (planted_ / embedded_file).string()) << describe(p);
}

}  // namespace
}  // namespace hostlaunch::test
