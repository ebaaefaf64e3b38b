// SPDX-License-Identifier: Apache-2.0
// What the cases about graphs share: graphs and executables that end with the case, user objects
// that tell when and where they end, and a line for what is seen but not promised.
#pragma once

#include <cstdio>

#include "contract/scene.hpp"

namespace hostlaunch::contract {

// The end of a user object. Never freed: the driver may come late.
struct ending_mark {
    std::atomic<int> ended{0};
    std::atomic<std::thread::id> thread{};

    static void set(void* self) {
        auto& mark = *static_cast<ending_mark*>(self);
        mark.thread = std::this_thread::get_id();
        mark.ended.fetch_add(1);
    }
    // The call that dropped the last reference, on this thread, has returned.
    void expect_ended_here() const {
        EXPECT_EQ(ended, 1);
        EXPECT_EQ(thread.load(), std::this_thread::get_id());
    }
    bool comes() {
        return eventually([this] { return ended > 0; });
    }
    bool stays_away() {
        return !eventually([this] { return ended > 0; }, a_while);
    }
};

inline ending_mark& make_mark() {
    static auto& marks = *new std::deque<ending_mark>;
    return marks.emplace_back();
}

inline user_object make_object(ending_mark& mark, unsigned references = 1) {
    user_object object = nullptr;
    EXPECT_EQ(api().user_object_create(&object, &mark, ending_mark::set, references,
                                       user_object_no_destructor_sync),
              success);
    return object;
}

class graph_test : public driver_test {
  protected:
    void SetUp() override {
        if (api().graph_launch == nullptr || api().user_object_create == nullptr) {
            GTEST_SKIP() << "this driver has no graphs";
        }
        driver_test::SetUp();
    }
    void TearDown() override {
        if (ctx_ == nullptr) return;
        for (const graph_exec exec : execs_) {
            EXPECT_EQ(api().graph_exec_destroy(exec), success);
        }
        for (const graph g : graphs_) {
            EXPECT_EQ(api().graph_destroy(g), success);
        }
        driver_test::TearDown();
    }

    graph end_capture(stream s) {
        graph g = nullptr;
        EXPECT_EQ(api().stream_end_capture(s, &g), success);
        graphs_.push_back(g);
        return g;
    }
    graph capture(stream s, const std::function<void()>& calls) {
        EXPECT_EQ(api().stream_begin_capture(s, capture_mode::relaxed), success);
        calls();
        return end_capture(s);
    }
    graph capture_function(stream s, host_fn fn, void* user_data) {
        return capture(s, [&] { EXPECT_EQ(api().launch_host_func(s, fn, user_data), success); });
    }
    // A graph of functions, one after the other.
    graph capture_counts(stream s, std::atomic<int>& counter, int count = 1) {
        return capture(s, [&] {
            for (int i = 0; i < count; ++i) {
                EXPECT_EQ(launch(s, counter), success);
            }
        });
    }
    graph clone(graph g) {
        graph copy = nullptr;
        EXPECT_EQ(api().graph_clone(&copy, g), success);
        graphs_.push_back(copy);
        return copy;
    }
    graph create() {
        graph g = nullptr;
        EXPECT_EQ(api().graph_create(&g, 0), success);
        graphs_.push_back(g);
        return g;
    }
    graph_exec instantiate(graph g) {
        graph_exec exec = nullptr;
        EXPECT_EQ(api().graph_instantiate(&exec, g, 0), success);
        execs_.push_back(exec);
        return exec;
    }
    static void run(graph_exec exec, stream s) {
        EXPECT_EQ(api().graph_launch(exec, s), success);
        EXPECT_EQ(api().stream_synchronize(s), success);
    }
    void destroy(graph g) {
        EXPECT_EQ(api().graph_destroy(g), success);
        disown(g);
    }
    void destroy(graph_exec exec) {
        EXPECT_EQ(api().graph_exec_destroy(exec), success);
        disown(exec);
    }
    void disown(graph g) { std::erase(graphs_, g); }
    void disown(graph_exec exec) { std::erase(execs_, exec); }
    using driver_test::disown;

    // From now on the graph alone keeps the object.
    static ending_mark& give_object(graph g) {
        ending_mark& mark = make_mark();
        EXPECT_EQ(api().graph_retain_user_object(g, make_object(mark), 1, graph_user_object_move),
                  success);
        return mark;
    }
    static std::vector<graph_node> nodes_of(graph g) {
        std::size_t count = 0;
        EXPECT_EQ(api().graph_get_nodes(g, nullptr, &count), success);
        std::vector<graph_node> nodes(count);
        if (count == 0) return nodes;
        EXPECT_EQ(api().graph_get_nodes(g, nodes.data(), &count), success);
        return nodes;
    }
    static capture_status status_of(stream s) {
        capture_status status{};
        EXPECT_EQ(api().stream_is_capturing(s, &status), success);
        return status;
    }

  private:
    std::vector<graph> graphs_;
    std::vector<graph_exec> execs_;
};

}  // namespace hostlaunch::contract
