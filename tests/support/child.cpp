// SPDX-License-Identifier: Apache-2.0
// Processes for tests: programs over posix_spawn, and forks.
#include "support/child.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <stdexcept>
#include <thread>

namespace hostlaunch::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::vector<std::string> make_environment(const std::vector<std::string>& settings) {
    std::vector<std::string> made;
    for (char** line = environ; *line != nullptr; ++line) {
        const std::string text = *line;
        const std::string name = text.substr(0, text.find('='));
        bool replaced = false;
        for (const std::string& s : settings)
            replaced |= s.substr(0, s.find('=')) == name;
        if (!replaced) made.push_back(text);
    }
    for (const std::string& s : settings) {
        if (s.find('=') != std::string::npos) made.push_back(s);
    }
    return made;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> made;
    for (const std::string& text : texts)
        made.push_back(const_cast<char*>(text.c_str()));
    made.push_back(nullptr);
    return made;
}

pid_t spawn(const std::vector<std::string>& arguments, const std::vector<std::string>& settings,
            int out, int err) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
    const std::vector<std::string> environment = make_environment(settings);
    pid_t child = 0;
    const int failed = posix_spawn(&child, arguments[0].c_str(), &actions, nullptr,
                                   pointers(arguments).data(), pointers(environment).data());
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) throw std::runtime_error("cannot run " + arguments[0]);
    return child;
}

// Reads what is there; false at the end of the stream.
bool read_some(int fd, std::string& to) {
    std::array<char, 4096> bytes{};
    const ssize_t count = read(fd, bytes.data(), bytes.size());
    if (count > 0) to.append(bytes.data(), static_cast<std::size_t>(count));
    return count > 0;
}

void read_until(steady_clock::time_point deadline, int out, int err, ended_program& p) {
    std::array<pollfd, 2> ends{pollfd{out, POLLIN, 0}, pollfd{err, POLLIN, 0}};
    while (ends[0].fd >= 0 || ends[1].fd >= 0) {
        const auto left = std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now());
        if (left.count() <= 0 || poll(ends.data(), 2, static_cast<int>(left.count())) < 0) return;
        if (ends[0].revents != 0 && !read_some(out, p.out)) ends[0].fd = -1;
        if (ends[1].revents != 0 && !read_some(err, p.err)) ends[1].fd = -1;
    }
}

void wait_until(steady_clock::time_point deadline, pid_t child, ended_program& p) {
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (!p.timed_out && steady_clock::now() > deadline) {
            p.timed_out = true;
            kill(child, SIGKILL);
        }
        std::this_thread::sleep_for(milliseconds(1));
    }
    if (WIFSIGNALED(status)) {
        p.signal = WTERMSIG(status);
    } else {
        p.code = WEXITSTATUS(status);
    }
}

}  // namespace

ended_program run_program(const std::vector<std::string>& arguments,
                          const std::vector<std::string>& settings, std::chrono::seconds limit) {
    std::array<int, 2> out{};
    std::array<int, 2> err{};
    if (pipe2(out.data(), O_CLOEXEC) != 0 || pipe2(err.data(), O_CLOEXEC) != 0) {
        throw std::runtime_error("no pipe to be had");
    }
    const auto began = steady_clock::now();
    ended_program p;
    const pid_t child = spawn(arguments, settings, out[1], err[1]);
    close(out[1]);
    close(err[1]);
    read_until(began + limit, out[0], err[0], p);
    wait_until(began + limit, child, p);
    p.seconds = std::chrono::duration<double>(steady_clock::now() - began).count();
    close(out[0]);
    close(err[0]);
    return p;
}

void in_forked_child(const std::function<void()>& body) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        alarm(60);  // a child that hangs is a failure, not a wait
        body();
        std::fflush(nullptr);
        _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

std::string describe(const ended_program& p) {
    return "exit code " + std::to_string(p.code) + ", signal " + std::to_string(p.signal) +
           (p.timed_out ? ", timed out" : "") + " after " + std::to_string(p.seconds) +
           " s\nstdout: " + p.out + "\nstderr: " + p.err;
}

}  // namespace hostlaunch::test
