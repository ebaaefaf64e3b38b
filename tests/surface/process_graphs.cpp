// SPDX-License-Identifier: Apache-2.0
// Processes that end, fork or lose their context while graphs are built, pending or running.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>

#include "support/lasting.hpp"
#include "surface/graph_fixture.hpp"
#include "surface/process_cases.hpp"

namespace hostlaunch::test {
namespace {

void say(const char* what) {
    if (write(STDOUT_FILENO, what, std::strlen(what)) < 0) _exit(99);
}

int fail(const char* what) {
    std::fprintf(stderr, "not as it should be: %s\n", what);
    return 1;
}

struct tells {
    bool mine = true;
    tells() = default;
    tells(tells&& other) noexcept : mine(std::exchange(other.mine, false)) {}
    tells& operator=(tells&&) = delete;
    ~tells() {
        if (mine) say("destroyed ");
    }
    void operator()() const { say("ran "); }
};

template <class Add>
graph_builder built(stream& s, Add&& add) {
    graph_builder b(s);
    b.begin_building();
    add(b);
    b.end_building();
    return b;
}

int graph_launches_pending() {
    stream& s = lasting<stream>();
    graph& g = lasting<graph>(built(s, [](graph_builder& b) { b.callback(tells()); }).complete());
    hostlaunch_embedded_set_manual(1);
    for (int i = 0; i < 10; ++i)
        g.launch(s);
    return 3;
}

int graph_function_running() {
    stream& s = lasting<stream>();
    blocker& began = lasting<blocker>();
    graph& g = lasting<graph>(built(s, [&began](graph_builder& b) {
                                  b.callback([&began] {
                                      say("began ");
                                      began.let_go();
                                      began();
                                      std::this_thread::sleep_for(std::chrono::milliseconds(300));
                                      say("ended ");
                                  });
                                  b.callback(tells());
                              }).complete());
    g.launch(s);
    g.launch(s);
    began.wait_until_running();
    return 3;
}

int builder_still_building() {
    stream& s = lasting<stream>();
    graph_builder& b = lasting<graph_builder>(s);
    b.begin_building(capture_mode::global);
    b.callback(tells());
    return 3;
}

// Constructed before main: destroyed after the library's handler, when the driver may be gone.
std::optional<stream> early_stream;
std::optional<graph_builder> early_builder;
std::optional<graph_builder> early_building;
std::optional<graph> early_graph;

int graph_objects_made_before_main() {
    early_stream.emplace();
    early_builder.emplace(built(*early_stream, [](graph_builder& b) { b.callback(tells()); }));
    early_graph.emplace(early_builder->complete());
    early_graph->launch(*early_stream);
    early_stream->sync();
    early_building.emplace(*early_stream);
    early_building->begin_building();
    early_building->callback(tells());
    return 3;
}

// Destroyed before the library's handler, launches in flight.
int graph_objects_made_in_main() {
    driver();
    static stream s;
    static stream captured;
    static graph_builder b = built(s, [](graph_builder& to) {
        to.callback([] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
    });
    static graph g = b.complete();
    static graph_builder building(captured);
    building.begin_building();
    building.callback([p = std::make_unique<int>(1)] { (void)*p; });
    for (int i = 0; i < 50; ++i)
        g.launch(s);
    return 3;
}

int exit_inside_a_graph_function() {
    stream& s = lasting<stream>();
    graph& g = lasting<graph>(
        built(s, [](graph_builder& b) { b.callback([] { std::exit(5); }); }).complete());
    g.launch(s);
    std::this_thread::sleep_for(std::chrono::seconds(60));
    return 9;
}

int exit_while_threads_build_and_launch() {
    for (int t = 0; t < 3; ++t) {
        std::thread([] {
            try {
                stream& s = lasting<stream>();
                for (;;) {
                    graph g = built(s, [](graph_builder& b) {
                                  b.callback([p = std::make_unique<int>(1)] { (void)*p; });
                              }).complete();
                    for (int i = 0; i < 10; ++i)
                        g.launch(s);
                }
            } catch (const error& e) {
                // A call that was past our check is refused by the driver itself.
                const bool exits = e.code() == static_cast<int>(misuse::exiting) ||
                                   e.code() == abi::error_deinitialized;
                if (!exits) say((std::string("another error ") + e.what()).c_str());
                for (;;)
                    pause();
            }
        }).detach();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::exit(3);
}

template <class F>
bool is_refused(misuse why, F&& f) {
    try {
        f();
    } catch (const error& e) {
        return e.code() == static_cast<int>(why);
    }
    return false;
}

struct forked_objects {
    stream s;
    graph_node node;
    graph_builder done;
    graph g;
    stream captured;
    graph_builder building{captured};
};
std::optional<forked_objects> shared;

int check_forked_child() {
    fate f;
    const auto refused = [](auto call) { return is_refused(misuse::forked, call); };
    forked_objects& o = *shared;
    if (!refused([&] { graph_builder b(o.s); })) return fail("a new builder");
    if (!refused([&] { (void)graph_builder::attach(o.captured); })) return fail("attach");
    if (!refused([&] { o.building.callback(watched(f)); })) return fail("callback");
    if (!refused([&] { o.building.end_building(); })) return fail("end_building");
    if (!refused([&] { (void)o.building.is_building(); })) return fail("is_building");
    if (!refused([&] { (void)o.done.complete(); })) return fail("complete");
    if (!refused([&] { o.g.launch(o.s); })) return fail("launch");
    if (!refused([&] { o.g.upload(o.s); })) return fail("upload");
    if (!refused([&] { o.g.update(o.done); })) return fail("update");
    if (!refused([&] { o.g.update_callback(o.node, watched(f)); })) return fail("update_callback");
    if (f.destroyed != 2) return fail("the refused callables");
    shared.reset();  // does nothing, and does not hang
    return 0;
}

std::atomic<bool> entries_wait{false};
std::atomic<int> waiting{0};
thread_local bool waits_at_entries = false;

// Lets a thread that wants it wait at the driver's door: with what it has locked on the way there.
int wait_at_entry() {
    if (!waits_at_entries) return 0;
    ++waiting;
    eventually([] { return !entries_wait; });
    return 0;
}

// Threads hold the builder's and the graph's mutex at the time of the fork.
int fork_with_graphs() {
    fate& f = lasting<fate>();
    stream made;
    graph_node node;
    graph_builder done = built(made, [&](graph_builder& b) { node = b.callback(watched(f)); });
    graph g = done.complete();
    shared.emplace(forked_objects{std::move(made), node, std::move(done), std::move(g), stream()});
    forked_objects& o = *shared;
    o.building.begin_building();
    o.building.callback(watched(f));
    entries_wait = true;
    hostlaunch_embedded_set_entry_check(&wait_at_entry);
    std::thread launching([&o] {
        waits_at_entries = true;
        o.g.launch(o.s);
    });
    std::thread adding([&] {
        waits_at_entries = true;
        o.building.callback(watched(f));
    });
    if (!eventually([] { return waiting == 2; })) return fail("the threads");
    const pid_t child = fork_with_limit();
    if (child == 0) std::exit(check_forked_child() == 0 ? 7 : 1);
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return fail("the child's end");
    if (WEXITSTATUS(status) != 7) return fail("the child");
    entries_wait = false;
    hostlaunch_embedded_reset();
    launching.join();
    adding.join();
    o.building.end_building();
    graph second = o.building.complete();
    second.launch(o.s);
    o.s.sync();
    if (f.ran != 3 || f.destroyed != 0) return fail("the runs in the parent");
    second.close();
    shared.reset();
    return eventually([&f] { return f.destroyed == 3; }) ? 0 : fail("the release in the parent");
}

int graphs_after_a_sticky_error() {
    constexpr int fault = abi::error_illegal_address;
    fate& f = lasting<fate>();
    fate& refused = lasting<fate>();
    stream& s = lasting<stream>();
    stream& captured = lasting<stream>();
    graph_node node;
    {
        graph_builder b = built(s, [&](graph_builder& to) { node = to.callback(watched(f)); });
        graph g = b.complete();
        graph_builder building(captured);
        building.begin_building();
        building.callback(watched(f));
        hostlaunch_embedded_set_manual(1);
        g.launch(s);
        hostlaunch_embedded_sticky_error(fault);
        int code = 0;
        try {
            g.launch(s);
        } catch (const error& e) {
            code = e.code();
        }
        if (code != fault) return fail("a later launch");
        for (int i = 0; i < 3; ++i) {
            try {
                g.update_callback(node, watched(refused));
            } catch (const error&) {
                if (refused.destroyed != i + 1) return fail("a refused callable");
            }
        }
    }
    hostlaunch_embedded_set_manual(0);
    if (f.ran != 0 || f.destroyed > 2) return fail("what became of the functions");
    return 3;
}

}  // namespace

const process_case graph_cases[] = {
    {"graph_launches_pending", &graph_launches_pending},
    {"graph_function_running", &graph_function_running},
    {"builder_still_building", &builder_still_building},
    {"graph_objects_made_before_main", &graph_objects_made_before_main},
    {"graph_objects_made_in_main", &graph_objects_made_in_main},
    {"exit_inside_a_graph_function", &exit_inside_a_graph_function},
    {"exit_while_threads_build_and_launch", &exit_while_threads_build_and_launch},
    {"fork_with_graphs", &fork_with_graphs},
    {"graphs_after_a_sticky_error", &graphs_after_a_sticky_error},
    {nullptr, nullptr},
};

}  // namespace hostlaunch::test
