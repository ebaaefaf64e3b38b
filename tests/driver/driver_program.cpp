// SPDX-License-Identifier: Apache-2.0
// Loads a driver as the environment says and tells, line by line, what came of it.
//
// With the argument `twice` it asks a second time with another setting, with `threads` from many
// threads at once, with `devices` it tells how many devices can be used, with `fork` a child
// asks that is made while a thread of its parent is inside the driver's start, with `chdir` it goes
// to another folder first, with `replaced` its own file is another one by then.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "hostlaunch/hostlaunch.hpp"

namespace {

int tell() {
    try {
        const hostlaunch::driver_info info = hostlaunch::driver();
        std::printf("name %s\nversion %d\npath %s\nreason %s\n", info.name.c_str(), info.version,
                    info.path.c_str(), info.fallback_reason.c_str());
    } catch (const hostlaunch::error& e) {
        std::printf("code %d\nerror %s\nmessage %s\n", e.code(), e.name().c_str(), e.what());
    }
    return 0;
}

int tell_from_threads() {
    std::atomic<int> loaded{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&loaded] {
            try {
                hostlaunch::stream s;
                hostlaunch::host_launch(s, [&loaded] { ++loaded; });
                s.sync();
            } catch (const hostlaunch::error& e) {
                std::fprintf(stderr, "%s\n", e.what());
            }
        });
    }
    for (std::thread& t : threads)
        t.join();
    std::printf("loaded %d\n", loaded.load());
    return 0;
}

int tell_devices() {
    int devices = 0;
    try {
        for (;; ++devices) {
            hostlaunch::stream s({.device_id = devices});
            bool ran = false;
            hostlaunch::host_launch(s, [&ran] { ran = true; });
            s.sync();
            if (!ran || s.device_id() != devices) return 1;
        }
    } catch (const hostlaunch::error& e) {
        std::printf("devices %d\ncode %d\n", devices, e.code());
    }
    return 0;
}

std::array<int, 2> make_pipe(const char* setting, int end) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) std::abort();
    setenv(setting, std::to_string(ends[static_cast<std::size_t>(end)]).c_str(), 1);
    return ends;
}

int tell_in_a_child() {
    const std::array<int, 2> started = make_pipe("FAKE_STARTED", 1);
    const std::array<int, 2> go = make_pipe("FAKE_GO", 0);
    char byte = 0;
    std::thread loads([] { (void)hostlaunch::driver(); });
    if (read(started[0], &byte, 1) != 1) return 1;
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);  // one that hangs is killed
        std::exit(tell());
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    if (write(go[1], &byte, 1) != 1) return 1;
    loads.join();
    return tell();
}

int tell_after_replacing(const char* program) {
    const std::string fresh = std::string(program) + ".new";
    std::filesystem::copy_file(program, fresh);
    std::filesystem::rename(fresh, program);
    return tell();
}

}  // namespace

int main(int argc, char** argv) {
    const std::string how = argc > 1 ? argv[1] : "";
    if (how == "threads") return tell_from_threads();
    if (how == "devices") return tell_devices();
    if (how == "fork") return tell_in_a_child();
    if (how == "replaced") return tell_after_replacing(argv[0]);
    if (how == "chdir" && chdir("/") != 0) return 1;
    tell();
    if (how != "twice") return 0;
    setenv("HOSTLAUNCH_DRIVER", "embedded", 1);
    return tell();
}
