// SPDX-License-Identifier: Apache-2.0
// What a node of a graph costs does not depend on how many there are.
#include <algorithm>
#include <ctime>

#include "embedded/graph_fixture.hpp"

namespace hostlaunch::embedded::test {
namespace {

class graph_cost : public embedded_driver {
  protected:
    void SetUp() override {
        embedded_driver::SetUp();
        ASSERT_EQ(cuGraphCreate(&graph_, 0), success);
    }
    void TearDown() override {
        EXPECT_EQ(cuGraphDestroy(graph_), success);
        embedded_driver::TearDown();
    }

    // Adds functions, each with an owner, as a library does that keeps their arguments alive.
    void add(int count) {
        for (int i = 0; i < count; ++i) {
            user_object object = nullptr;
            ASSERT_EQ(
                cuUserObjectCreate(&object, nullptr, nothing, 1, user_object_no_destructor_sync),
                success);
            ASSERT_EQ(cuGraphRetainUserObject(graph_, object, 1, graph_user_object_move), success);
            const host_node_params params{nothing, nullptr};
            const graph_node before = last_;
            ASSERT_EQ(cuGraphAddHostNode(&last_, graph_, &before, before != nullptr, &params),
                      success);
        }
    }
    // The CPU time of this thread alone, so that others do not count; the least of several.
    double cost_of_a_node() {
        constexpr int rounds = 5;
        constexpr int nodes = 200;
        double least = 1e9;
        for (int i = 0; i < rounds; ++i) {
            const double begin = cpu_seconds();
            add(nodes);
            least = std::min(least, (cpu_seconds() - begin) / nodes);
        }
        return least;
    }

  private:
    static void nothing(void*) {}
    static double cpu_seconds() {
        timespec now{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
    }

    graph graph_ = nullptr;
    graph_node last_ = nullptr;
};

// contract: N2
TEST_F(graph_cost, of_a_function_stays_the_same_in_a_large_graph) {
    add(100);
    const double at_first = cost_of_a_node();
    add(30'000);
    EXPECT_LT(cost_of_a_node(), 5 * at_first);
}

}  // namespace
}  // namespace hostlaunch::embedded::test
