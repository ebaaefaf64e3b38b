// SPDX-License-Identifier: Apache-2.0
// Calls about graphs when memory runs out: each allocation of each call fails once, and leaves
// nothing half done.
#include <cstdlib>
#include <new>

#include "embedded/graph_fixture.hpp"

namespace {

thread_local int allocations_left = -1;  // until one fails; negative: none does

}  // namespace

// Seen by the driver's library as well. Out of line: the compiler shall not pair the halves.
[[gnu::visibility("default"), gnu::noinline]] void* operator new(std::size_t bytes) {
    if (allocations_left == 0) {
        allocations_left = -1;
        throw std::bad_alloc();
    }
    allocations_left -= allocations_left > 0 ? 1 : 0;
    void* made = std::malloc(bytes == 0 ? 1 : bytes);
    if (made == nullptr) {
        throw std::bad_alloc();
    }
    return made;
}
[[gnu::visibility("default"), gnu::noinline]] void* operator new[](std::size_t bytes) {
    return operator new(bytes);
}
[[gnu::visibility("default"), gnu::noinline]] void operator delete(void* p) noexcept {
    std::free(p);
}
[[gnu::visibility("default"), gnu::noinline]] void operator delete(void* p, std::size_t) noexcept {
    std::free(p);
}
[[gnu::visibility("default"), gnu::noinline]] void operator delete[](void* p) noexcept {
    std::free(p);
}
[[gnu::visibility("default"), gnu::noinline]] void operator delete[](void* p,
                                                                     std::size_t) noexcept {
    std::free(p);
}

namespace hostlaunch::embedded::test {
namespace {

class allocations : public embedded_driver {
  protected:
    // Makes the first, second, ... allocation of the call fail until none does.
    template <class Call, class Unchanged>
    static void fail_each(Call call, Unchanged unchanged) {
        for (int n = 0;; ++n) {
            ASSERT_LT(n, 1000);
            allocations_left = n;
            const result answer = call();
            const bool failed = allocations_left == -1;
            allocations_left = -1;
            if (!failed) {
                EXPECT_EQ(answer, success);
                EXPECT_GT(n, 0) << "the driver allocates elsewhere";
                return;
            }
            ASSERT_EQ(answer, error_out_of_memory) << "allocation " << n;
            unchanged();
        }
    }
    static std::int64_t live(const char* what) { return hostlaunch_embedded_live(what); }
};

TEST_F(allocations, that_fail_leave_graphs_executables_and_references_as_they_were) {
    const stream s = make_stream();
    std::atomic<int> ran{0};
    tomb object;
    const graph child = capture_counts(s, {&ran, &ran});
    give_object(child, object);
    graph g = nullptr;
    graph clone = nullptr;
    graph_exec exec = nullptr;
    graph_node node = nullptr;
    exec_update_result outcome{};
    const host_node_params params{count_up, &ran};
    fail_each([&] { return cuGraphCreate(&g, 0); }, [&] { EXPECT_EQ(live("graphs"), 1); });
    fail_each([&] { return cuGraphAddHostNode(&node, g, nullptr, 0, &params); },
              [&] { EXPECT_EQ(nodes_of(g).size(), 0u); });
    fail_each([&] { return cuGraphAddChildGraphNode(&node, g, &node, 1, child); },
              [&] {
                  EXPECT_EQ(nodes_of(g).size(), 1u);
                  EXPECT_EQ(live("graphs"), 2);
              });
    fail_each([&] { return cuGraphClone(&clone, g); }, [&] { EXPECT_EQ(live("graphs"), 3); });
    fail_each([&] { return cuGraphInstantiateWithFlags(&exec, g, 0); },
              [&] { EXPECT_EQ(live("graph_execs"), 0); });
    fail_each([&] { return cuGraphExecUpdate_v2(exec, clone, &outcome); }, [] {});
    EXPECT_EQ(cuGraphLaunch(exec, s), success);
    EXPECT_EQ(cuStreamSynchronize(s), success);
    EXPECT_EQ(ran, 3);
    EXPECT_EQ(cuGraphDestroy(child), success);
    EXPECT_EQ(cuGraphDestroy(clone), success);
    EXPECT_EQ(cuGraphDestroy(g), success);
    settle();
    EXPECT_EQ(object.ended, 0);  // so the copies did not share a count by mistake
    EXPECT_EQ(cuGraphExecDestroy(exec), success);
    settle();
    EXPECT_EQ(object.ended, 1);  // and none was counted twice
}

// So many nodes that the table of handles grows in every kind of call.
TEST_F(allocations, that_fail_for_a_handle_leave_no_node_behind) {
    constexpr std::size_t count = 100;
    const stream s = make_stream();
    std::atomic<int> ran{0};
    const host_node_params params{count_up, &ran};
    graph g = nullptr;
    graph clone = nullptr;
    graph_node node = nullptr;
    ASSERT_EQ(cuGraphCreate(&g, 0), success);
    for (std::size_t i = 0; i < count; ++i) {
        fail_each([&] { return cuGraphAddHostNode(&node, g, nullptr, 0, &params); },
                  [&] { EXPECT_EQ(nodes_of(g).size(), i); });
    }
    fail_each([&] { return cuGraphClone(&clone, g); }, [&] { EXPECT_EQ(live("graphs"), 1); });
    fail_each([&] { return cuGraphAddChildGraphNode(&node, clone, nullptr, 0, g); },
              [&] {
                  EXPECT_EQ(nodes_of(clone).size(), count);
                  EXPECT_EQ(live("graphs"), 2);
              });
    const graph_exec exec = instantiate(clone);
    EXPECT_EQ(cuGraphLaunch(exec, s), success);
    EXPECT_EQ(cuStreamSynchronize(s), success);
    EXPECT_EQ(ran, int{2 * count});
    EXPECT_EQ(cuGraphExecDestroy(exec), success);
    EXPECT_EQ(cuGraphDestroy(g), success);
    EXPECT_EQ(cuGraphDestroy(clone), success);
}

TEST_F(allocations, that_fail_launch_nothing) {
    constexpr int nodes = 5'000;  // more than the driver has operations for
    const stream s = make_stream();
    std::atomic<int> ran{0};
    const graph g = capture(s, [&] {
        for (int i = 0; i < nodes; ++i) {
            ASSERT_EQ(cuLaunchHostFunc(s, count_up, &ran), success);
        }
    });
    const graph_exec exec = instantiate(g);
    fail_each([&] { return cuGraphLaunch(exec, s); },
              [&] {
                  EXPECT_EQ(cuStreamQuery(s), success);
                  EXPECT_EQ(live("pending"), 0);
              });
    EXPECT_EQ(cuStreamSynchronize(s), success);
    EXPECT_EQ(ran, nodes);
    EXPECT_EQ(cuGraphExecDestroy(exec), success);
    EXPECT_EQ(cuGraphDestroy(g), success);
}

TEST_F(allocations, that_fail_record_nothing_in_a_capture) {
    const stream s = make_stream();
    std::atomic<int> ran{0};
    graph g = nullptr;
    capture_status status{};
    fail_each([&] { return cuStreamBeginCapture_v2(s, capture_mode::relaxed); },
              [&] { EXPECT_EQ(live("graphs"), 0); });
    ASSERT_EQ(cuStreamGetCaptureInfo_v2(s, &status, nullptr, &g, nullptr, nullptr), success);
    fail_each([&] { return cuLaunchHostFunc(s, count_up, &ran); },
              [&] { EXPECT_EQ(nodes_of(g).size(), 0u); });
    graph_node node = nodes_of(g)[0];
    fail_each([&] { return cuStreamUpdateCaptureDependencies(s, &node, 1, 1); }, [] {});
    EXPECT_EQ(cuStreamEndCapture(s, &g), success);
    EXPECT_EQ(nodes_of(g).size(), 1u);
    EXPECT_EQ(cuGraphDestroy(g), success);
}

TEST_F(allocations, that_fail_leave_user_objects_with_their_owners) {
    tomb object;
    graph g = nullptr;
    user_object made = nullptr;
    ASSERT_EQ(cuGraphCreate(&g, 0), success);
    fail_each([&] { return cuUserObjectCreate(&made, &object, tomb::fill, 1, 1); },
              [&] { EXPECT_EQ(live("user_objects"), 0); });
    fail_each([&] { return cuGraphRetainUserObject(g, made, 1, graph_user_object_move); },
              [&] { EXPECT_EQ(cuUserObjectRelease(made, 2), error_invalid_value); });
    EXPECT_EQ(cuUserObjectRelease(made, 1), error_invalid_value);
    EXPECT_EQ(cuGraphDestroy(g), success);
    settle();
    EXPECT_EQ(object.ended, 1);
}

}  // namespace
}  // namespace hostlaunch::embedded::test
