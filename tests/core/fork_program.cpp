// SPDX-License-Identifier: Apache-2.0
// A program whose child, made by fork, says with its exit code whether all was as it should be.
//
// The child may be one thread of a process with many: it expects with plain ifs and ends with _exit
// or, where that is the case, with exit.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "core/driver_fixture.hpp"
#include "core/objects/buffer.hpp"
#include "core/objects/event.hpp"
#include "core/objects/stream.hpp"
#include "core/process/gate.hpp"
#include "support/lasting.hpp"

namespace hostlaunch::core {
namespace {

using test::blocker;
using test::make_record;

void count_destroyed(void* payload) noexcept {
    ++**static_cast<std::atomic<int>**>(payload);
}
std::atomic<int> called{0};
outcome count_run(void*) {
    ++called;
    return outcome::ran;
}
constexpr task_type counted{&count_run, &count_destroyed};
std::atomic<int> destroyed{0};

bool launch(const stream_target& target) {
    return launch_task(target, make_record(counted, &destroyed)).ok();
}

void require(bool what) {
    if (!what) std::abort();
}

int fail(const char* what) {
    std::fprintf(stderr, "not as it should be: %s\n", what);
    return 1;
}

// The exit code of the child that runs `body`, or -1 if it did not exit within a minute.
template <class Body>
int code_of_child(Body&& body) {
    const pid_t child = test::fork_with_limit();
    if (child == 0) body();
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int check_child(stream& s, buffer& b) {
    const launch_stats before = read_stats();
    const int called_before = called;
    const int destroyed_before = destroyed;
    if (enter_driver().code != static_cast<int>(misuse::forked)) return fail("entering the driver");
    if (may_block().code != static_cast<int>(misuse::forked)) return fail("blocking");
    if (gate().enter()) return fail("the gate: a function of the parent's would run");
    const std::uint64_t destroys = hostlaunch_embedded_calls("cuStreamDestroy");
    s.close();
    b.close();
    if (!s.is_closed()) return fail("closing");
    if (hostlaunch_embedded_calls("cuStreamDestroy") != destroys) return fail("the close");
    if (!to_release().empty()) return fail("a deferred destruction");
    if (read_stats().accepted != before.accepted) return fail("the counts");
    if (called != called_before || destroyed != destroyed_before) {
        return fail("a function of the parent's");
    }
    return 0;
}

struct parent {
    std::unique_ptr<stream> s;
    std::unique_ptr<buffer> b;
    blocker& first = test::lasting<blocker>();  // a child has no use for its end

    parent() {
        require(enter_driver().ok());
        require(stream::create({0, true, {}}, s).ok());
        require(buffer::create(64, buffer::kind::pinned, 0, b).ok());
        require(launch_untracked(s->target(), {&blocker::run, &first}).ok());
        first.wait_until_running();
        require(launch(s->target()));
    }
    // The parent's own work is untouched by what the child did.
    int finish_work() {
        first.let_go();
        if (!sync_stream(s->target()).ok()) return fail("the parent's sync");
        if (called != 1) return fail("the parent's function");
        return test::eventually([] { return destroyed == 1; }) ? 0 : fail("the parent's release");
    }
};

int child_leaves() {
    parent p;
    const int code = code_of_child([&p] { _exit(check_child(*p.s, *p.b)); });
    return code == 0 ? p.finish_work() : fail("the child");
}

// Exit handlers and destructors run in the child.
int child_exits() {
    static parent p;
    const int code = code_of_child([] { std::exit(check_child(*p.s, *p.b) == 0 ? 7 : 1); });
    return code == 7 ? p.finish_work() : fail("the child's exit");
}

int fork_inside_a_function() {
    static parent p;
    static std::atomic<int> code{-2};
    const auto forks = [](void*) {
        const host_function_scope inside;
        code = code_of_child([] { _exit(check_child(*p.s, *p.b)); });
    };
    require(launch_untracked({p.s->raw()}, {forks, nullptr}).ok());
    const int rest = p.finish_work();
    return code == 0 ? rest : fail("the child of the host function");
}

int child_before_the_driver() {
    return code_of_child([] {
        parent p;
        _exit(p.finish_work());
    });
}

}  // namespace

int run_fork_case(const char* name) {
    if (std::strcmp(name, "child_leaves") == 0) return child_leaves();
    if (std::strcmp(name, "child_exits") == 0) return child_exits();
    if (std::strcmp(name, "fork_inside_a_function") == 0) return fork_inside_a_function();
    if (std::strcmp(name, "child_before_the_driver") == 0) return child_before_the_driver();
    return fail("the name of the case");
}

}  // namespace hostlaunch::core

int main(int argc, char** argv) {
    setenv("HOSTLAUNCH_DRIVER", "embedded", 1);
    return argc == 2 ? hostlaunch::core::run_fork_case(argv[1]) : 2;
}
