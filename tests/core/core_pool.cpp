// SPDX-License-Identifier: Apache-2.0
// The record pool: tokens, generations, and memory that follows the peak.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <thread>
#include <unordered_set>
#include <vector>

#include "core/task/pool_of_records.hpp"
#include "support/waiting.hpp"

namespace hostlaunch::core {
namespace {

record_pool& pool() {
    return record_pool::instance();
}

token begin_launch(record& r) {
    const std::uint64_t free_word = r.word.load();
    r.word.store(record::make_word(r.generation(), state::launching));
    return r.token_from(free_word);
}

// The free list is last in, first out: the record comes back if nobody else takes it.
void reuse(record& r) {
    pool().recycle(r);
    ASSERT_EQ(pool().acquire(), &r);
}

TEST(record_pool, hands_out_free_records_with_payloads_aligned_to_64_bytes) {
    record* r = pool().acquire();
    ASSERT_NE(r, nullptr);
    EXPECT_EQ(record::state_of(r->word.load()), state::free);
    EXPECT_EQ(&pool().at(r->index()), r);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(r->payload) % 64, 0u);
    pool().recycle(*r);
}

// contract: O1
TEST(record_pool, a_token_is_claimed_once) {
    record& r = *pool().acquire();
    const token t = begin_launch(r);
    EXPECT_NE(t, 0u);
    EXPECT_EQ(pool().claim(t), &r);
    EXPECT_EQ(pool().claim(t), nullptr);
    EXPECT_EQ(record::state_of(r.word.load()), state::running);
    pool().recycle(r);
    EXPECT_EQ(pool().claim(t), nullptr);
}

// contract: O1
TEST(record_pool, the_token_of_a_used_launch_never_claims_the_next_user) {
    record& r = *pool().acquire();
    const token used = begin_launch(r);
    ASSERT_EQ(pool().claim(used), &r);
    ASSERT_TRUE(r.move(r.generation(), state::running, state::ran));
    reuse(r);
    const token next = begin_launch(r);
    EXPECT_NE(next, used);
    EXPECT_EQ(pool().claim(used), nullptr);
    EXPECT_EQ(pool().claim(next), &r);
    pool().recycle(r);
}

// contract: L3
TEST(record_pool, the_token_of_a_withdrawn_launch_never_claims_the_next_user) {
    record& r = *pool().acquire();
    const token withdrawn = begin_launch(r);
    ASSERT_TRUE(r.move(r.generation(), state::launching, state::free));
    EXPECT_EQ(pool().claim(withdrawn), nullptr);
    reuse(r);
    const token next = begin_launch(r);
    EXPECT_EQ(pool().claim(withdrawn), nullptr);
    EXPECT_EQ(pool().claim(next), &r);
    pool().recycle(r);
}

TEST(record_pool, tokens_of_launches_that_ended_otherwise_claim_nothing) {
    for (const state ended : {state::abandoned, state::dropped}) {
        record& r = *pool().acquire();
        const token t = begin_launch(r);
        ASSERT_TRUE(r.move(r.generation(), state::launching, ended));
        EXPECT_EQ(pool().claim(t), nullptr);
        pool().recycle(r);
    }
}

TEST(record_pool, a_token_that_was_never_made_claims_nothing) {
    record* r = pool().acquire();
    EXPECT_EQ(pool().claim(0), nullptr);
    EXPECT_EQ(pool().claim(record_pool::max_records - 1), nullptr);
    EXPECT_EQ(pool().claim(~token{0}), nullptr);
    pool().recycle(*r);
}

// The driver's call may come before, during and after the move that the launching thread makes.
TEST(record_pool, a_claim_wins_over_the_launching_thread_in_every_order) {
    constexpr int rounds = 10'000;
    std::atomic<token> handed{0};
    std::atomic<int> answered{0};
    std::atomic<int> claimed{0};
    std::thread driver([&] {
        for (int i = 0; i < rounds; ++i) {
            token t = 0;
            while ((t = handed.exchange(0)) == 0)
                std::this_thread::yield();
            if (pool().claim(t) != nullptr) ++claimed;
            ++answered;
        }
    });
    for (int i = 0; i < rounds; ++i) {
        record& r = *pool().acquire();
        const std::uint64_t generation = r.generation();
        handed.store(begin_launch(r));
        r.move(generation, state::launching, state::pending);
        while (answered.load() == i)
            std::this_thread::yield();
        pool().recycle(r);
    }
    driver.join();
    EXPECT_EQ(claimed, rounds);
}

TEST(record_pool, the_last_generation_is_used_and_then_retired) {
    record& r = *pool().acquire();
    r.word.store(record::make_word(record::last_generation - 1, state::free));
    reuse(r);
    ASSERT_EQ(r.generation(), record::last_generation);
    const token last = begin_launch(r);
    EXPECT_EQ(pool().claim(last), &r);
    ASSERT_TRUE(r.move(record::last_generation, state::running, state::ran));
    pool().recycle(r);

    std::unordered_set<record*> handed_out;
    const std::uint32_t size = pool().size();
    while (pool().size() == size)
        handed_out.insert(pool().acquire());
    EXPECT_FALSE(handed_out.contains(&r));
    EXPECT_LE(handed_out.size(), std::size_t{size});  // one of the new chunk, all but r of the old
    EXPECT_EQ(pool().claim(last), nullptr);
    for (record* taken : handed_out)
        pool().recycle(*taken);
}

// One thread launches, another releases, at most 256 records in between.
// contract: L5
TEST(record_pool, a_million_launches_released_by_another_thread_need_no_more_than_their_peak) {
    constexpr std::uint32_t launches = 1'000'000;
    constexpr std::uint32_t outstanding = 256;
    std::array<record*, outstanding> ring{};
    std::atomic<std::uint32_t> put{0};
    std::atomic<std::uint32_t> taken{0};
    for (record*& r : ring)
        r = pool().acquire();
    for (record* r : ring)
        pool().recycle(*r);
    const std::uint32_t size = pool().size();
    std::thread releaser([&] {
        for (std::uint32_t i = 0; i < launches; ++i) {
            while (put.load() == i)
                std::this_thread::yield();
            pool().recycle(*ring[i % outstanding]);
            taken.store(i + 1);
        }
    });
    for (std::uint32_t i = 0; i < launches; ++i) {
        while (i - taken.load() == outstanding)
            std::this_thread::yield();
        ring[i % outstanding] = pool().acquire();
        put.store(i + 1);
    }
    releaser.join();
    EXPECT_EQ(pool().size(), size);
}

// The payload is written without any synchronisation but the pool's.
TEST(record_pool, no_record_has_two_owners) {
    constexpr int threads = 4;
    constexpr int rounds = 20'000;
    std::barrier start(threads);
    std::atomic<int> mistaken{0};
    const auto work = [&](int id) {
        start.arrive_and_wait();
        std::array<record*, 8> held{};
        for (int i = 0; i < rounds; ++i) {
            record*& slot = held[static_cast<std::size_t>(i) % held.size()];
            if (slot != nullptr) {
                if (*reinterpret_cast<int*>(slot->payload) != id) ++mistaken;
                pool().recycle(*slot);
            }
            slot = pool().acquire();
            *reinterpret_cast<int*>(slot->payload) = id;
        }
        for (record* r : held)
            pool().recycle(*r);
    };
    std::vector<std::thread> workers;
    for (int id = 0; id < threads; ++id)
        workers.emplace_back(work, id);
    for (std::thread& w : workers)
        w.join();
    EXPECT_EQ(mistaken, 0);
}

}  // namespace
}  // namespace hostlaunch::core
