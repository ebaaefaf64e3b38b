// SPDX-License-Identifier: Apache-2.0
// A record that a graph holds while its node is refused: the caller takes it back on one thread,
// and the graph dies on another. No driver is asked.
#include "core/graph_function.hpp"

#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <chrono>
#include <thread>

#include "core/housekeeper.hpp"
#include "core/outcomes.hpp"
#include "core/pool.hpp"

namespace hostlaunch::core {
namespace {

constexpr int rounds = 2'000;
constexpr std::size_t held = 16;

struct one {
    record* r = nullptr;
    token t = 0;
    std::uint64_t generation = 0;
    bool taken_back = false;
    int released = 0;
};

one attached() {
    one o;
    o.r = record_pool::instance().acquire();
    o.generation = o.r->generation();
    o.t = o.r->token_from(o.r->word.load());
    o.r->word.store(record::make_word(o.generation, state::attached));
    return o;
}

int& payload_of(record& r) {
    return *reinterpret_cast<int*>(r.payload);
}

// What the surface does once the driver has refused the node. The payload is written without any
// synchronisation but the record's.
void take_back_and_let_go(one& o) {
    o.taken_back = take_back(*o.r, o.t, {abi::error_out_of_memory, nullptr}).owns_payload;
    if (!o.taken_back) return;
    ++payload_of(*o.r);
    let_go(*o.r);
}

// Takes what awaits release and gives it back, as the releasing thread does.
void release(std::array<one, held>& all) {
    to_release().drain([&all](record& r) {
        for (one& o : all)
            o.released += o.r == &r ? 1 : 0;
        ++payload_of(r);
        record_pool::instance().recycle(r);
    });
}

// Either the caller has the payload again or it awaits release, and the record is given back once,
// whichever of the two lets go last.
// contract: B5
TEST(graph_function, a_record_that_is_taken_back_while_its_graph_dies_is_given_back_once) {
    housekeeper::stop(std::chrono::seconds(30));
    std::array<one, held> all;
    std::barrier step(2);
    std::thread graphs([&] {
        for (int i = 0; i < rounds; ++i) {
            step.arrive_and_wait();
            for (const one& o : all)
                hostlaunch_graph_release(reinterpret_cast<void*>(o.t));
            step.arrive_and_wait();
        }
    });
    int mistakes = 0;
    for (int i = 0; i < rounds; ++i) {
        for (one& o : all) {
            o = attached();
            payload_of(*o.r) = 0;
        }
        step.arrive_and_wait();
        for (one& o : all)
            take_back_and_let_go(o);
        step.arrive_and_wait();
        release(all);
        for (const one& o : all) {
            const bool once = o.released == (o.taken_back ? 0 : 1) && payload_of(*o.r) == 1;
            const auto given_back = record::make_word(o.generation + 1, state::free);
            mistakes += once && o.r->word.load() == given_back ? 0 : 1;
        }
    }
    graphs.join();
    EXPECT_EQ(mistakes, 0);
}

}  // namespace
}  // namespace hostlaunch::core
