// SPDX-License-Identifier: Apache-2.0
// One outcome for every launch, whoever gets there first. The monitor is stopped, so that what
// awaits release waits for the test.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

#include "core/driver_fixture.hpp"
#include "core/process/monitor.hpp"
#include "core/task/outcomes.hpp"

namespace hostlaunch::core {
namespace {

using test::make_pending;
using test::make_record;

const auto a_context = reinterpret_cast<abi::context>(std::uintptr_t{0x1000});
const auto other_context = reinterpret_cast<abi::context>(std::uintptr_t{0x2000});

void count_destroyed(void* payload) noexcept {
    ++**static_cast<std::atomic<int>**>(payload);
}
constexpr hostlaunch::detail::task_type counted{nullptr, &count_destroyed};
constexpr hostlaunch::detail::task_type trivial{nullptr, nullptr};

launch_stats operator-(const launch_stats& a, const launch_stats& b) {
    return {a.accepted - b.accepted,
            a.pending - b.pending,
            a.running - b.running,
            a.ran - b.ran,
            a.raised - b.raised,
            a.abandoned - b.abandoned,
            a.dropped - b.dropped,
            a.cancelled - b.cancelled,
            a.awaiting_release - b.awaiting_release};
}

class outcomes : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        ASSERT_TRUE(enter_driver().ok());
        monitor::stop(std::chrono::seconds(30));
    }
    launch_stats since_start() const { return read_stats() - before_; }
    void TearDown() override {
        release_in_background();
        const launch_stats s = since_start();
        EXPECT_EQ(s.accepted,
                  s.pending + s.running + s.ran + s.raised + s.abandoned + s.dropped + s.cancelled);
        EXPECT_EQ(s.awaiting_release, 0u);
    }
    record& pending(const route* taken = nullptr, abi::context context = a_context) {
        record& r = make_record(counted, &destroyed_);
        make_pending(r, taken, context);
        return r;
    }
    record& running() {
        record& r = make_record(counted, &destroyed_);
        const token t = make_pending(r, nullptr, a_context);
        EXPECT_EQ(record_pool::instance().claim(t), &r);
        return r;
    }

    std::atomic<int> destroyed_{0};

  private:
    launch_stats before_ = read_stats();
};

// contract: C2
TEST_F(outcomes, a_launch_that_ran_is_counted_and_its_payload_destroyed_once) {
    record& r = running();
    EXPECT_EQ(since_start().running, 1u);
    EXPECT_TRUE(finish(r, outcome::ran));
    EXPECT_EQ(since_start().awaiting_release, 1u);
    EXPECT_EQ(destroyed_, 0);
    EXPECT_TRUE(!to_release().empty());
    EXPECT_TRUE(release_in_background());
    EXPECT_FALSE(release_in_background());
    EXPECT_EQ(destroyed_, 1);
    EXPECT_EQ(since_start().ran, 1u);
}

TEST_F(outcomes, a_raised_launch_is_counted_as_that) {
    EXPECT_TRUE(finish(running(), outcome::raised));
    EXPECT_EQ(since_start().raised, 1u);
    EXPECT_EQ(since_start().ran, 0u);
}

TEST_F(outcomes, a_payload_without_destructor_is_done_with_at_once) {
    record& r = make_record(trivial, nullptr);
    ASSERT_EQ(record_pool::instance().claim(make_pending(r, nullptr, a_context)), &r);
    EXPECT_TRUE(finish_in_place(r, outcome::ran));
    EXPECT_EQ(since_start().ran, 1u);
    EXPECT_EQ(since_start().awaiting_release, 0u);
    EXPECT_EQ(record::state_of(r.word.load()), state::free);
}

// contract: L4
TEST_F(outcomes, a_failed_context_abandons_its_own_pending_launches_alone) {
    record& failed = pending();
    record& elsewhere = pending(nullptr, other_context);
    record& started = running();
    record& foreign = pending(&native);
    routes::abandon_pending(a_context);
    EXPECT_EQ(since_start().abandoned, 1u);
    EXPECT_EQ(record::state_of(failed.word.load()), state::abandoned);
    release_in_background();
    EXPECT_EQ(destroyed_, 1);

    routes::abandon_pending(other_context);
    EXPECT_TRUE(finish(started, outcome::ran));
    end_pending(foreign, foreign.generation(), outcome::ran);
    release_in_background();
    EXPECT_EQ(destroyed_, 4);
    EXPECT_EQ(since_start().abandoned, 2u);
    EXPECT_EQ(since_start().ran, 2u);
    EXPECT_EQ(elsewhere.generation(), record::generation_of(elsewhere.word.load()));
}

// contract: L4
TEST_F(outcomes, an_abandoned_as_is_payload_is_kept) {
    record& r = pending(&native);
    leak(r, r.generation(), state::pending, outcome::abandoned);
    EXPECT_EQ(since_start().abandoned, 1u);
    EXPECT_EQ(since_start().awaiting_release, 0u);
    release_in_background();
    EXPECT_EQ(destroyed_, 0);
    EXPECT_EQ(record::state_of(r.word.load()), state::leaked);
}

// contract: X1
TEST_F(outcomes, exit_drops_everything_and_releases_only_what_has_not_started) {
    pending();
    record& started = running();
    pending(&native);
    pending(&unknown_code);
    EXPECT_EQ(routes::awaited_at_exit(), true);
    EXPECT_EQ(routes::drop_all(), 4u);
    EXPECT_EQ(routes::awaited_at_exit(), false);
    EXPECT_EQ(since_start().dropped, 4u);
    release_in_background();
    EXPECT_EQ(destroyed_, 1);
    EXPECT_FALSE(finish(started, outcome::ran));
    EXPECT_EQ(since_start().ran, 0u);
}

// contract: X1
TEST_F(outcomes, a_launch_accepted_after_exit_began_is_dropped) {
    record& gated = pending();
    record& as_is = pending(&native);
    routes::drop_late(gated, gated.generation());
    routes::drop_late(as_is, as_is.generation());
    EXPECT_EQ(since_start().dropped, 2u);
    release_in_background();
    EXPECT_EQ(destroyed_, 1);
}

// A spent record is lost to the pool, not to the counts.
TEST_F(outcomes, a_record_in_its_last_generation_leaves_the_counts_right) {
    record& r = *record_pool::instance().acquire();
    r.word.store(record::make_word(record::last_generation, state::free));
    r.type = &counted;
    ::new (r.payload) void*(&destroyed_);
    ASSERT_EQ(record_pool::instance().claim(make_pending(r, nullptr, a_context)), &r);
    EXPECT_TRUE(finish(r, outcome::ran));
    release_in_background();
    EXPECT_EQ(destroyed_, 1);
    EXPECT_EQ(since_start().ran, 1u);
    EXPECT_EQ(since_start().awaiting_release, 0u);
}

constexpr int rounds = 300;
constexpr std::size_t launches = 16;

// Callbacks and a sweep race for each of `launches` records, `rounds` times. Returns how many
// callbacks got to run.
template <class Sweep>
int race(std::atomic<int>& destroyed, Sweep&& sweep) {
    std::array<token, launches> tokens{};
    std::atomic<int> ran{0};
    std::barrier step(2);
    std::thread callbacks([&] {
        for (int i = 0; i < rounds; ++i) {
            step.arrive_and_wait();
            for (const token t : tokens) {
                record* r = record_pool::instance().claim(t);
                if (r != nullptr && finish(*r, outcome::ran)) ++ran;
            }
            step.arrive_and_wait();
        }
    });
    for (int i = 0; i < rounds; ++i) {
        for (token& t : tokens) {
            t = make_pending(make_record(counted, &destroyed), nullptr, a_context);
        }
        step.arrive_and_wait();
        sweep();
        step.arrive_and_wait();
        release_in_background();
    }
    callbacks.join();
    return ran;
}

// contract: L4
TEST_F(outcomes, each_launch_runs_or_is_abandoned_in_a_race) {
    const int ran = race(destroyed_, [] { routes::abandon_pending(a_context); });
    const launch_stats s = since_start();
    EXPECT_EQ(s.accepted, rounds * launches);
    EXPECT_EQ(s.ran, static_cast<std::uint64_t>(ran));
    EXPECT_EQ(s.ran + s.abandoned, rounds * launches);
    EXPECT_EQ(destroyed_, static_cast<int>(rounds * launches));
}

// contract: X1
TEST_F(outcomes, each_launch_runs_or_is_dropped_in_a_race) {
    std::uint64_t dropped = 0;
    const int ran = race(destroyed_, [&dropped] { dropped += routes::drop_all(); });
    const launch_stats s = since_start();
    EXPECT_EQ(s.ran, static_cast<std::uint64_t>(ran));
    EXPECT_EQ(s.dropped, dropped);
    EXPECT_EQ(s.ran + s.dropped, rounds * launches);
    EXPECT_LE(destroyed_, static_cast<int>(rounds * launches));  // running ones are kept
    EXPECT_GE(destroyed_, ran);
}

TEST_F(outcomes, a_launch_is_outstanding_until_its_payload_is_released_here) {
    ASSERT_FALSE(any_outstanding(!has_release_hook()));
    record& r = make_record(counted, &destroyed_);
    EXPECT_FALSE(any_outstanding(!has_release_hook()));
    const token t = make_pending(r, nullptr, a_context);
    EXPECT_TRUE(any_outstanding(!has_release_hook()));
    ASSERT_EQ(record_pool::instance().claim(t), &r);
    EXPECT_TRUE(any_outstanding(!has_release_hook()));
    EXPECT_TRUE(finish(r, outcome::ran));
    EXPECT_TRUE(any_outstanding(!has_release_hook()));
    set_release_hook([]() noexcept { return true; });  // then it is another's to release
    EXPECT_FALSE(any_outstanding(!has_release_hook()));
    set_release_hook(nullptr);
    release_in_background();
    EXPECT_FALSE(any_outstanding(!has_release_hook()));
}

TEST_F(outcomes, a_launch_in_the_last_chunk_of_the_pool_is_outstanding) {
    std::vector<record*> taken;
    const std::uint32_t size = record_pool::instance().size();
    do {
        taken.push_back(record_pool::instance().acquire());
    } while (record_pool::instance().size() == size);
    record& last = *taken.back();
    last.type = &trivial;
    make_pending(last, nullptr, a_context);
    EXPECT_TRUE(any_outstanding(!has_release_hook()));
    EXPECT_EQ(outstanding(), 1u);
    taken.pop_back();
    finish_in_place(*record_pool::instance().claim(test::token_of(last)), outcome::ran);
    for (record* r : taken)
        record_pool::instance().recycle(*r);
    EXPECT_FALSE(any_outstanding(!has_release_hook()));
}

// contract: section 5
TEST_F(outcomes, the_number_of_accepted_launches_never_goes_back_and_is_never_too_high) {
    constexpr std::uint64_t each = 20'000;
    std::atomic<std::uint64_t> begun{0};
    const std::uint64_t before = read_stats().accepted;
    std::thread launcher([&begun] {
        for (std::uint64_t n = 0; n < each; ++n) {
            ++begun;
            record& r = make_record(trivial, nullptr);
            const token t = make_pending(r, nullptr, a_context);
            finish_in_place(*record_pool::instance().claim(t), outcome::ran);
        }
    });
    std::uint64_t last = before;
    while (last < before + each && begun < each) {
        const std::uint64_t now = read_stats().accepted;
        EXPECT_GE(now, last);
        EXPECT_LE(now, before + begun);
        last = now;
    }
    launcher.join();
    EXPECT_EQ(since_start().accepted, each);
}

TEST_F(outcomes, counts_add_up_while_many_threads_launch_and_finish) {
    constexpr std::uint64_t each = 20'000;
    std::barrier start(4);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&start] {
            start.arrive_and_wait();
            for (std::uint64_t n = 0; n < each; ++n) {
                record& r = make_record(trivial, nullptr);
                const token t = make_pending(r, nullptr, a_context);
                finish_in_place(*record_pool::instance().claim(t),
                                n % 2 == 0 ? outcome::ran : outcome::raised);
            }
        });
    }
    for (std::thread& t : threads)
        t.join();
    EXPECT_EQ(since_start().accepted, 4 * each);
    EXPECT_EQ(since_start().ran, 2 * each);
    EXPECT_EQ(since_start().raised, 2 * each);
    EXPECT_EQ(outstanding(), 0u);
}

}  // namespace
}  // namespace hostlaunch::core
