// SPDX-License-Identifier: Apache-2.0
// A record that a graph holds while its node is refused: the caller takes it back on one thread,
// and the graph dies on another. No driver is asked.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "core/graphs/graph_task.hpp"
#include "core/process/monitor.hpp"
#include "core/task/pool_of_records.hpp"
#include "core/task/release.hpp"

namespace hostlaunch::core {
namespace {

struct one {
    record* r = nullptr;
    token t = 0;
    std::uint64_t generation = 0;
    bool taken_back = false;
    int released = 0;
};

int& payload_of(record& r) {
    return *reinterpret_cast<int*>(r.payload);
}

one attached() {
    one o;
    o.r = record_pool::instance().acquire();
    o.generation = o.r->generation();
    o.t = o.r->token_from(o.r->word.load());
    o.r->word.store(record::make_word(o.generation, state::in_graph));
    payload_of(*o.r) = 0;
    return o;
}

// What the surface does once the driver has refused the node. Payloads are written without any
// synchronisation but the record's.
void take_back(one& o) {
    o.taken_back = take_back(*o.r, o.t, {abi::error_out_of_memory, nullptr}).owns_payload;
    if (o.taken_back) ++payload_of(*o.r);
}
void let_go(one& o) {
    if (o.taken_back) release_claim(*o.r);
}

// The graph dies.
void die(const one& o) {
    hostlaunch_graph_release(reinterpret_cast<void*>(o.t));
}

// Gives back what awaits release, as the releasing thread does.
template <class Records>
void release(Records& all) {
    to_release().drain([&all](record& r) {
        for (one& o : all)
            o.released += o.r == &r ? 1 : 0;
        ++payload_of(r);
        record_pool::instance().recycle(r);
    });
}

// Either the caller had the payload again or it was released, and the record is given back once.
bool ended_once(const one& o) {
    return o.released == (o.taken_back ? 0 : 1) && payload_of(*o.r) == 1 &&
           o.r->word.load() == record::make_word(o.generation + 1, state::free);
}

class graph_function : public testing::Test {
  protected:
    static void SetUpTestSuite() { monitor::stop(std::chrono::seconds(30)); }
};

// contract: B5
TEST_F(graph_function, whoever_of_caller_and_graph_lets_go_last_gives_the_record_back) {
    for (const int graph_dies_at : {0, 1, 2}) {
        SCOPED_TRACE(graph_dies_at);
        std::array<one, 1> only{attached()};
        one& o = only[0];
        if (graph_dies_at == 0) die(o);
        take_back(o);
        EXPECT_EQ(o.taken_back, graph_dies_at != 0);
        if (graph_dies_at == 1) die(o);
        let_go(o);
        if (graph_dies_at == 2) die(o);
        release(only);
        EXPECT_TRUE(ended_once(o));
    }
}

// Two threads wait for each other, for the nth time. Awake: asleep they would go on one by one.
void meet(std::atomic<int>& arrivals, int nth) {
    ++arrivals;
    while (arrivals < 2 * nth)
        std::this_thread::yield();
}

// The caller takes all of them back and then lets go of them, the graphs die in the other order: so
// each of the three orders comes about where the threads run at once, and races in between.
// contract: B5
TEST_F(graph_function, a_record_that_is_taken_back_while_its_graph_dies_is_given_back_once) {
    constexpr int rounds = 10'000;
    std::array<one, 16> all;
    std::atomic<int> arrivals{0};
    std::thread graphs([&] {
        for (int i = 0; i < rounds; ++i) {
            meet(arrivals, 2 * i + 1);
            std::for_each(all.rbegin(), all.rend(), &die);
            meet(arrivals, 2 * i + 2);
        }
    });
    int mistakes = 0;
    for (int i = 0; i < rounds; ++i) {
        std::generate(all.begin(), all.end(), &attached);
        meet(arrivals, 2 * i + 1);
        for (one& o : all)
            take_back(o);
        for (one& o : all)
            let_go(o);
        meet(arrivals, 2 * i + 2);
        release(all);
        for (const one& o : all)
            mistakes += ended_once(o) ? 0 : 1;
    }
    graphs.join();
    EXPECT_EQ(mistakes, 0);
}

}  // namespace
}  // namespace hostlaunch::core
