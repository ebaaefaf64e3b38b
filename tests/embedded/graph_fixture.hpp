// SPDX-License-Identifier: Apache-2.0
// What the tests of graphs share: captures of a few calls, and user objects that count their ends.
#pragma once

#include <functional>
#include <initializer_list>

#include "embedded/fixture.hpp"

namespace hostlaunch::embedded::test {

// Counts the calls of a user object's destructor, and keeps the thread of the last one.
struct tomb {
    std::atomic<int> ended{0};
    std::atomic<std::thread::id> thread{};

    static void fill(void* self) {
        auto& t = *static_cast<tomb*>(self);
        t.thread = std::this_thread::get_id();
        t.ended.fetch_add(1);
    }
};

// Waits until the destructors that are due have run. Nothing else may be queued.
inline void settle() {
    EXPECT_EQ(hostlaunch_embedded_wait_idle(patience_ms), 0);
}

// Waits for a count that a destructor raises while other work is queued.
inline bool reaches(const std::atomic<int>& count, int value) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (count < value && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::yield();
    }
    return count == value;
}

inline graph capture(stream s, const std::function<void()>& calls) {
    graph g = nullptr;
    EXPECT_EQ(cuStreamBeginCapture_v2(s, capture_mode::relaxed), success);
    calls();
    EXPECT_EQ(cuStreamEndCapture(s, &g), success);
    return g;
}

inline graph capture_counts(stream s, std::initializer_list<std::atomic<int>*> counters) {
    return capture(s, [&] {
        for (std::atomic<int>* c : counters) {
            EXPECT_EQ(cuLaunchHostFunc(s, count_up, c), success);
        }
    });
}

inline graph_exec instantiate(graph g) {
    graph_exec exec = nullptr;
    EXPECT_EQ(cuGraphInstantiateWithFlags(&exec, g, 0), success);
    return exec;
}

inline user_object make_object(tomb& t, unsigned references = 1) {
    user_object object = nullptr;
    EXPECT_EQ(cuUserObjectCreate(&object, &t, tomb::fill, references, 1), success);
    return object;
}

// The graph alone keeps the object.
inline void give_object(graph g, tomb& t) {
    EXPECT_EQ(cuGraphRetainUserObject(g, make_object(t), 1, graph_user_object_move), success);
}

inline std::vector<graph_node> nodes_of(graph g) {
    std::size_t count = 0;
    EXPECT_EQ(cuGraphGetNodes(g, nullptr, &count), success);
    std::vector<graph_node> nodes(count);
    EXPECT_EQ(cuGraphGetNodes(g, nodes.data(), &count), success);
    return nodes;
}

}  // namespace hostlaunch::embedded::test
