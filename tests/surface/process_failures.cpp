// SPDX-License-Identifier: Apache-2.0
// Contexts that fail and processes that fork, through the public library.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

#include "support/lasting.hpp"
#include "surface/fixture.hpp"
#include "surface/process_cases.hpp"

namespace hostlaunch::test {
namespace {

constexpr int fault = abi::error_illegal_address;

int fail(const char* what) {
    std::fprintf(stderr, "not as it should be: %s\n", what);
    return 1;
}

template <class F>
int code_of(F&& f) {
    try {
        f();
    } catch (const error& e) {
        return e.code();
    }
    return 0;
}

// Everything pending is abandoned without a call into the library: the destructor tells.
// Writes how long that took.
int sticky_error_abandons() {
    fate& gated = lasting<fate>();
    stream& s = lasting<stream>();
    const std::array<std::byte, 16> bytes{};
    hostlaunch_embedded_set_manual(1);
    for (int i = 0; i < 10; ++i)
        host_launch(s, watched(gated));
    host_launch(s, +[](void*) {}, bytes);
    const auto began = std::chrono::steady_clock::now();
    hostlaunch_embedded_sticky_error(fault);
    while (gated.destroyed < 10) {
        if (std::chrono::steady_clock::now() - began > patience) return fail("abandonment");
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    std::printf("%.3f\n", took.count());
    if (!eventually([] { return stats().abandoned == 11; })) return fail("the as-is launch");
    hostlaunch_embedded_set_manual(0);
    if (hostlaunch_embedded_wait_idle(patience_ms) != 0) return fail("the driver's idleness");
    if (!eventually(nothing_outstanding)) return fail("the release");
    if (gated.ran != 0 || gated.destroyed != 10) return fail("what became of the callables");
    return stats().accepted == 11 ? 0 : fail("the counts");
}

// A function that runs when its context fails ends as it would have; later calls get the error.
int sticky_error_is_reported() {
    stream& s = lasting<stream>();
    fate running;
    fate refused;
    blocker first;
    host_launch(s, [&first, w = watched(running)] { first(); });
    first.wait_until_running();
    event& e = lasting<event>(s.record());
    hostlaunch_embedded_sticky_error(fault);
    if (code_of([&] { s.sync(); }) != fault) return fail("sync");
    if (code_of([&] { e.sync(); }) != fault) return fail("event sync");
    if (code_of([&] { (void)e.is_done(); }) != fault) return fail("is_done");
    for (int i = 0; i < 100; ++i) {
        if (code_of([&] { host_launch(s, watched(refused)); }) != fault) return fail("a launch");
    }
    if (refused.destroyed != 100 || refused.ran != 0) return fail("the refused callables");
    const std::array<std::byte, 16> bytes{};
    if (code_of([&] { host_launch(s, +[](void*) {}, bytes); }) != fault) return fail("as is");
    if (code_of([] { stream another; }) != fault) return fail("a new stream");
    first.let_go();
    if (!eventually([&] { return running.destroyed == 1; })) return fail("the running one");
    if (!eventually([] { return stats().ran == 1; })) return fail("the count of the running one");
    s.close();
    return stats().accepted == 1 && nothing_outstanding() ? 0 : fail("the counts");
}

stream_options on_device(int id) {
    stream_options options;
    options.device_id = id;
    return options;
}

// An error of one device is one of the whole process: the other's launches are abandoned too, but
// for the function that runs, and later calls for either get the error.
int sticky_error_ends_both_devices() {
    setenv("HOSTLAUNCH_EMBEDDED_DEVICES", "2", 1);
    stream& first = lasting<stream>(on_device(0));
    stream& second = lasting<stream>(on_device(1));
    fate& pending = lasting<fate>();
    fate refused;
    blocker& held = lasting<blocker>();
    blocker& running = lasting<blocker>();
    host_launch(first, std::ref(held));
    host_launch(second, [&running] { running(); });
    held.wait_until_running();
    running.wait_until_running();
    for (stream* s : {&first, &second}) {
        for (int i = 0; i < 50; ++i)
            host_launch(*s, watched(pending));
        host_launch(*s, +[](void*) {}, std::array<std::byte, 16>{});
    }
    hostlaunch_embedded_sticky_error(fault);
    held.let_go();
    if (!eventually([] { return stats().abandoned == 102; })) return fail("abandonment");
    if (stats().running != 1) return fail("the running one");
    for (const int id : {0, 1}) {
        stream& s = id == 0 ? first : second;
        if (code_of([&] { s.sync(); }) != fault) return fail("sync");
        if (code_of([&] { (void)s.record(); }) != fault) return fail("record");
        if (code_of([&] { host_launch(s, watched(refused)); }) != fault) return fail("a launch");
        if (code_of([&] { stream more(on_device(id)); }) != fault) return fail("a new stream");
    }
    running.let_go();
    if (!eventually([] { return stats().ran == 1; })) return fail("the end of the running one");
    if (!eventually([&] { return pending.destroyed == 100; })) return fail("the release");
    if (pending.ran != 0 || refused.ran != 0) return fail("what ran");
    if (refused.destroyed != 2) return fail("the refused callables");
    first.close();
    second.close();
    return eventually(nothing_outstanding) && stats().accepted == 103 ? 0 : fail("the counts");
}

std::optional<stream> forked_stream;

int check_forked_child() {
    fate f;
    const int forked = static_cast<int>(misuse::forked);
    if (code_of([&] { host_launch(*forked_stream, watched(f)); }) != forked) return fail("launch");
    if (f.destroyed != 1) return fail("the refused callable");
    if (code_of([] { forked_stream->sync(); }) != forked) return fail("sync");
    if (code_of([] { stream s; }) != forked) return fail("a new stream");
    if (code_of([] { buffer b(16); }) != forked) return fail("a new buffer");
    return 0;
}

// The child exits through all destructors; the parent's launches run once, in the parent.
int fork_with_launches_pending() {
    fate& f = lasting<fate>();
    blocker& first = lasting<blocker>();
    forked_stream.emplace();
    host_launch(*forked_stream, std::ref(first));
    first.wait_until_running();
    for (int i = 0; i < 10; ++i)
        host_launch(*forked_stream, watched(f));
    const pid_t child = fork_with_limit();
    if (child == 0) std::exit(check_forked_child() == 0 ? 7 : 1);
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return fail("the child's end");
    if (WEXITSTATUS(status) != 7) return fail("the child");
    first.let_go();
    forked_stream->sync();
    if (!eventually([&] { return f.destroyed == 10; })) return fail("the release in the parent");
    return f.ran == 10 ? 0 : fail("the runs in the parent");
}

}  // namespace

const process_case failure_cases[] = {
    {"sticky_error_abandons", &sticky_error_abandons},
    {"sticky_error_is_reported", &sticky_error_is_reported},
    {"sticky_error_ends_both_devices", &sticky_error_ends_both_devices},
    {"fork_with_launches_pending", &fork_with_launches_pending},
    {nullptr, nullptr},
};

}  // namespace hostlaunch::test
