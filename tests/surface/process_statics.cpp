// SPDX-License-Identifier: Apache-2.0
// Objects that are destroyed when the process exits, before and after the library's own handler.
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "embedded/control.hpp"
#include "hostlaunch/hostlaunch.hpp"
#include "support/lasting.hpp"
#include "surface/process_cases.hpp"

namespace hostlaunch::test {
namespace {

void say(const char* what) {
    if (write(STDOUT_FILENO, what, std::strlen(what)) < 0) _exit(99);
}

// Constructed before main and so before the driver is loaded: destroyed after the library's
// handler.
std::optional<stream> early_stream;
std::optional<event> early_event;
std::optional<buffer> early_buffer;
std::vector<std::shared_ptr<stream>> early_list;

int objects_made_before_main() {
    early_stream.emplace();
    early_event.emplace(early_stream->record());
    early_buffer.emplace(std::size_t{64}, buffer_kind::pinned);
    early_list.push_back(std::make_shared<stream>());
    host_launch(*early_stream, [kept = early_list.front()] {});
    for (int i = 0; i < 100; ++i)
        host_launch(*early_stream, [p = std::make_unique<int>(i)] {});
    return 3;
}

// Constructed after the driver was loaded: destroyed before the library's handler.
int objects_made_in_main() {
    driver();
    static stream s;
    static event e = s.record();
    static buffer b(64, buffer_kind::pinned);
    static std::atomic<int> ran{0};
    b.fill(std::byte{1}, s);
    for (int i = 0; i < 100; ++i)
        host_launch(s, [] { ++ran; });
    return 3;
}

struct launches_when_destroyed {
    stream* on = nullptr;
    ~launches_when_destroyed() {
        if (on == nullptr) return;
        try {
            host_launch(*on, [] { say("ran "); });
            on->sync();
            say("launched ");
        } catch (const error& e) {
            say(e.code() == static_cast<int>(misuse::exiting) ? "refused " : "another error ");
        }
    }
};

launches_when_destroyed early_launcher;

int launch_in_a_destructor_after_the_librarys_handler() {
    early_launcher.on = &lasting<stream>();
    host_launch(*early_launcher.on, [] {});
    return 3;
}

int launch_in_a_destructor_before_the_librarys_handler() {
    stream& s = lasting<stream>();
    static launches_when_destroyed late_launcher;
    late_launcher.on = &s;
    host_launch(s, [p = std::make_unique<int>(1)] {});
    return 3;
}

// The first use of the library comes when exit has begun.
struct first_use_when_destroyed {
    bool wanted = false;
    ~first_use_when_destroyed() {
        if (!wanted) return;
        try {
            stream s;
            host_launch(s, [] { say("ran "); });
            s.sync();
        } catch (const error&) {
            say("refused ");
        }
    }
};
first_use_when_destroyed first_use;

int first_use_during_exit() {
    first_use.wanted = true;
    return 3;
}

// A callable that owns its stream, which is pending when the process exits.
int a_pending_callable_that_owns_its_stream() {
    auto s = std::make_shared<stream>();
    stream& on = *s;
    hostlaunch_embedded_set_manual(1);
    host_launch(on, [kept = std::move(s)] { say("ran "); });
    return 3;
}

}  // namespace

const process_case static_cases[] = {
    {"objects_made_before_main", &objects_made_before_main},
    {"objects_made_in_main", &objects_made_in_main},
    {"launch_after_the_handler", &launch_in_a_destructor_after_the_librarys_handler},
    {"launch_before_the_handler", &launch_in_a_destructor_before_the_librarys_handler},
    {"first_use_during_exit", &first_use_during_exit},
    {"a_pending_callable_that_owns_its_stream", &a_pending_callable_that_owns_its_stream},
    {nullptr, nullptr},
};

}  // namespace hostlaunch::test
