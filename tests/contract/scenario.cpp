// SPDX-License-Identifier: Apache-2.0
// Starts scenarios in processes of their own and waits for them, bounded.
#include "contract/scenario.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "support/child.hpp"

namespace hostlaunch::contract {
namespace {

constexpr std::chrono::seconds limit{90};

scenario*& first_scenario() {
    static scenario* first = nullptr;
    return first;
}

}  // namespace

scenario::scenario(const char* called, int (*body)()) : name(called), run(body) {
    next = first_scenario();
    first_scenario() = this;
}

int scenario::run_named(const std::string& wanted) {
    for (const scenario* s = first_scenario(); s != nullptr; s = s->next) {
        if (wanted == s->name) return s->run();
    }
    std::fprintf(stderr, "no scenario %s\n", wanted.c_str());
    return 127;
}

ending run_scenario(const std::string& name) {
    const test::ended_program p =
        test::run_program({"/proc/self/exe", "--scenario=" + name}, {}, limit);
    return {!p.timed_out, p.signal == 0 ? p.code : -1, p.out + p.err};
}

void expect_scenario(const std::string& name, int exit_code) {
    const ending e = run_scenario(name);
    EXPECT_TRUE(e.in_time) << name << " hung:\n" << e.output;
    EXPECT_EQ(e.exit_code, exit_code) << e.output;
}

int verdict(int code) {
    return testing::Test::HasFailure() ? 1 : code;
}

void say(const char* line) {
    const std::string text = std::string(line) + "\n";
    if (write(STDOUT_FILENO, text.data(), text.size()) < 0) _exit(126);
}

void say_line(void* line) {
    say(static_cast<const char*>(line));
}

void observe_scenario(const std::string& name) {
    const ending e = run_scenario(name);
    std::printf("%sobserved: %s: in time %d, exit code %d\n", e.output.c_str(), name.c_str(),
                e.in_time, e.exit_code);
}

void show_result(const char* what, result seen) {
    observe(what, seen);
    std::fflush(nullptr);
}

context use_primary_context(int device) {
    context ctx = nullptr;
    EXPECT_EQ(api().primary_ctx_retain(&ctx, device), success);
    EXPECT_EQ(api().ctx_set_current(ctx), success);
    return ctx;
}

stream create_stream(unsigned flags) {
    stream s = nullptr;
    EXPECT_EQ(api().stream_create(&s, flags, 0), success);
    return s;
}

void hold_by_value(stream s) {
    void* word = nullptr;
    device_ptr address = 0;
    EXPECT_EQ(api().mem_host_alloc(&word, 4, mem_host_alloc_portable | mem_host_alloc_device_map),
              success);
    std::memset(word, 0, 4);
    EXPECT_EQ(api().host_get_device_pointer(&address, word, 0), success);
    EXPECT_EQ(api().stream_wait_value32(s, address, 1, 1), success);
}

}  // namespace hostlaunch::contract
