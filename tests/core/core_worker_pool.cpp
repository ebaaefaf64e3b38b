// SPDX-License-Identifier: Apache-2.0
// The signals and the seats of a pool, on the embedded driver.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <functional>
#include <thread>

#include "core/driver_fixture.hpp"
#include "core/process/gate.hpp"
#include "core/routes/signal.hpp"
#include "core/routes/worker_pool.hpp"

namespace hostlaunch::core {
namespace {

using std::chrono::milliseconds;
using test::blocker;
using test::eventually;
using test::stays;

// A task of a test: the record carries a pointer to it.
struct job {
    std::function<void()> body;
    std::atomic<int> ran{0};
    std::atomic<int> failed_with{0};
};

job& job_in(void* payload) {
    return **std::launder(static_cast<job**>(payload));
}

outcome run(void* payload) {
    job& j = job_in(payload);
    if (j.body) j.body();
    ++j.ran;
    return outcome::ran;
}
outcome fail(void* payload, int code) {
    job_in(payload).failed_with = code;
    return outcome::abandoned;
}
std::atomic<int> batches{0};
void begin() {
    ++batches;
}
void end() {}

constexpr signal_type alone{{&run, nullptr}, &fail};
constexpr signal_type together{{&run, nullptr}, &fail, &begin, &end};

class a_pool : public test::core_on_embedded {
  protected:
    void make(unsigned threads) {
        pool_ = std::make_unique<worker_pool>(threads);
        ASSERT_TRUE(pool_->start());
    }
    void TearDown() override {
        hostlaunch_embedded_reset();
        if (pool_) {
            EXPECT_TRUE(eventually([this] { return pool_->pending() == 0; }));
            pool_->stop(test::patience);
        }
        core_on_embedded::TearDown();
    }
    // Until the stream's gate has ended, which the caller has let go.
    static void finish(abi::stream s) { EXPECT_EQ(embedded::cuStreamSynchronize(s), 0); }
    token submit(abi::stream s, job& j, const signal_type& type = alone) {
        record& r = test::make_record(type.task, &j);
        const token t = r.token_from(r.word.load());
        EXPECT_TRUE(pool_->reserve());
        EXPECT_TRUE(launch_signal({s}, r, *pool_).ok());
        return t;
    }

    std::unique_ptr<worker_pool> pool_;
};

bool has_run(const job& j) {
    return eventually([&j] { return j.ran == 1; });
}

// contract: P1
TEST_F(a_pool, runs_a_task_once_its_stream_got_there) {
    make(2);
    const abi::stream s = make_stream();
    blocker gate;
    ASSERT_EQ(embedded::cuLaunchHostFunc(s, &blocker::run, &gate), 0);
    job j;
    submit(s, j);
    EXPECT_TRUE(stays([&j] { return j.ran == 0; }, milliseconds(20)));
    gate.let_go();
    finish(s);
    EXPECT_TRUE(has_run(j));
}

// contract: P1, W4: also from naps of every length
TEST_F(a_pool, runs_tasks_of_many_threads_and_streams_each_once) {
    make(4);
    constexpr std::size_t threads = 4;
    constexpr std::size_t each = 500;
    std::vector<abi::stream> streams;
    for (std::size_t i = 0; i < threads; ++i)
        streams.push_back(make_stream());
    std::vector<std::vector<job>> jobs(threads);
    std::vector<std::jthread> submitting;
    for (std::size_t t = 0; t < threads; ++t) {
        jobs[t] = std::vector<job>(each);
        submitting.emplace_back([&, t] {
            for (std::size_t i = 0; i < each; ++i) {
                submit(streams[t], jobs[t][i]);
                if (i % 50 == 0) std::this_thread::sleep_for(std::chrono::microseconds(i * 10));
            }
        });
    }
    submitting.clear();
    for (std::size_t t = 0; t < threads; ++t) {
        for (std::size_t i = 0; i < each; ++i)
            EXPECT_TRUE(has_run(jobs[t][i]));
    }
}

// contract: W4: the standby takes the seat
TEST_F(a_pool, a_task_that_takes_long_leaves_the_others_to_another_thread) {
    make(2);
    const abi::stream s = make_stream();
    blocker held;
    job slow;
    slow.body = [&held] { held(); };
    submit(s, slow);
    held.wait_until_running();
    std::vector<job> quick(100);
    for (job& j : quick)
        submit(s, j);
    for (job& j : quick)
        EXPECT_TRUE(has_run(j));
    held.let_go();
    EXPECT_TRUE(has_run(slow));
}

// contract: W4: what was found together is shared out while one of it takes long
TEST_F(a_pool, tasks_found_together_run_beside_one_that_takes_long) {
    make(3);
    const abi::stream s = make_stream();
    blocker gate;
    ASSERT_EQ(embedded::cuLaunchHostFunc(s, &blocker::run, &gate), 0);
    std::array<blocker, 3> held;
    std::array<job, 3> slow;
    for (std::size_t i = 0; i < 3; ++i) {
        slow[i].body = [&held, i] { held[i](); };
        submit(s, slow[i]);
    }
    gate.let_go();
    finish(s);
    for (blocker& b : held)
        b.wait_until_running();
    for (blocker& b : held)
        b.let_go();
    for (job& j : slow)
        EXPECT_TRUE(has_run(j));
}

// contract: W4
TEST_F(a_pool, goes_on_after_all_of_its_threads_were_occupied) {
    make(2);
    const abi::stream s = make_stream();
    std::array<blocker, 2> held;
    std::array<job, 2> slow;
    std::vector<job> quick(10);
    for (std::size_t i = 0; i < 2; ++i) {
        slow[i].body = [&held, i] { held[i](); };
        submit(s, slow[i]);
        held[i].wait_until_running();
    }
    for (job& j : quick)
        submit(s, j);
    EXPECT_TRUE(stays([&quick] { return quick[0].ran == 0; }, milliseconds(20)));
    held[0].let_go();
    for (job& j : quick)
        EXPECT_TRUE(has_run(j));
    held[1].let_go();
    EXPECT_TRUE(has_run(slow[1]));
}

// contract: W4: one thread is enough
TEST_F(a_pool, of_one_thread_runs_everything) {
    make(1);
    const abi::stream s = make_stream();
    std::vector<job> jobs(200);
    for (job& j : jobs)
        submit(s, j);
    for (job& j : jobs)
        EXPECT_TRUE(has_run(j));
}

// contract: P8: many at once
TEST_F(a_pool, tasks_without_code_of_users_are_run_together) {
    make(1);
    const abi::stream s = make_stream();
    blocker gate;
    ASSERT_EQ(embedded::cuLaunchHostFunc(s, &blocker::run, &gate), 0);
    std::vector<job> jobs(500);
    for (job& j : jobs)
        submit(s, j, together);
    batches = 0;
    gate.let_go();
    finish(s);
    for (job& j : jobs)
        EXPECT_TRUE(has_run(j));
    EXPECT_LE(batches, 100);
}

// contract: P4
TEST_F(a_pool, a_task_that_was_taken_back_does_not_run) {
    make(1);
    const abi::stream s = make_stream();
    blocker gate;
    ASSERT_EQ(embedded::cuLaunchHostFunc(s, &blocker::run, &gate), 0);
    job taken;
    job next;
    record* r = record_pool::instance().claim(submit(s, taken));
    ASSERT_NE(r, nullptr);
    finish_in_place_slow(*r, outcome::cancelled);
    submit(s, next);
    gate.let_go();
    finish(s);
    EXPECT_TRUE(has_run(next));
    EXPECT_EQ(taken.ran, 0);
}

// contract: P3, X3
TEST_F(a_pool, an_error_that_stays_fails_the_task_and_one_that_passes_does_not) {
    make(1);
    const abi::stream s = make_stream();
    blocker gate;
    ASSERT_EQ(embedded::cuLaunchHostFunc(s, &blocker::run, &gate), 0);
    job j;
    submit(s, j);
    hostlaunch_embedded_fail_call("cuEventQuery", 1, abi::error_unknown);
    EXPECT_TRUE(stays([&j] { return j.failed_with == 0; }, milliseconds(20)));
    for (int nth = 1; nth <= 100; ++nth) {
        hostlaunch_embedded_fail_call("cuEventQuery", nth, abi::error_unknown);
    }
    EXPECT_TRUE(eventually([&j] { return j.failed_with == abi::error_unknown; }));
    gate.let_go();
    finish(s);
    EXPECT_EQ(j.ran, 0);
}

// contract: X1
TEST_F(a_pool, that_was_stopped_starts_nothing_more) {
    make(2);
    const abi::stream s = make_stream();
    blocker gate;
    ASSERT_EQ(embedded::cuLaunchHostFunc(s, &blocker::run, &gate), 0);
    std::vector<job> jobs(50);
    std::vector<token> tokens;
    for (job& j : jobs)
        tokens.push_back(submit(s, j));
    pool_->stop(test::patience);
    EXPECT_FALSE(pool_->start());
    gate.let_go();
    ASSERT_EQ(embedded::cuStreamSynchronize(s), 0);
    for (const token t : tokens) {
        record* r = record_pool::instance().claim(t);
        ASSERT_NE(r, nullptr);
        finish_in_place_slow(*r, outcome::dropped);
    }
    for (const job& j : jobs)
        EXPECT_EQ(j.ran, 0);
    EXPECT_EQ(pool_->pending(), 50u);
    pool_.reset();
    before_.events += 50;  // which are left to the end of the context
}

// contract: L7
TEST_F(a_pool, signals_of_a_crash_are_not_blocked_on_its_threads_and_others_are) {
    make(1);
    sigset_t blocked;
    sigemptyset(&blocked);
    std::array<char, 16> name{};
    job j;
    j.body = [&] {
        pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
        pthread_getname_np(pthread_self(), name.data(), name.size());
    };
    submit(make_stream(), j);
    ASSERT_TRUE(has_run(j));
    for (const int crash : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) {
        EXPECT_EQ(sigismember(&blocked, crash), 0) << crash;
    }
    for (const int other : {SIGINT, SIGTERM, SIGALRM, SIGCHLD, SIGUSR1}) {
        EXPECT_EQ(sigismember(&blocked, other), 1) << other;
    }
    EXPECT_STREQ(name.data(), "hostlaunch-0");
}

// contract: W4
TEST_F(a_pool, sleeps_with_nothing_pending) {
    make(4);
    const abi::stream s = make_stream();
    job j;
    submit(s, j);
    ASSERT_TRUE(has_run(j));
    const auto asks = [] { return hostlaunch_embedded_calls("cuEventQuery"); };
    EXPECT_TRUE(eventually([&asks] {
        const auto before = asks();
        return stays([&] { return asks() == before; }, milliseconds(100));
    }));
}

// --- the list alone

class a_list : public test::core_on_embedded {
  protected:
    abi::event record_event(abi::stream s) {
        abi::event e = nullptr;
        EXPECT_EQ(embedded::cuEventCreate(&e, abi::event_disable_timing), 0);
        EXPECT_EQ(embedded::cuEventRecord(e, s), 0);
        return e;
    }
    void list(stream_key key, token task, abi::event e) {
        ASSERT_TRUE(signals_.reserve());
        signals_.list(key, {task, e, &alone});
    }
    std::vector<token> look() {
        const relaxed_capture mode;
        std::deque<ready_task> ready;
        signals_.look(ready);
        std::vector<token> found;
        for (const ready_task& t : ready)
            found.push_back(t.task);
        return found;
    }

    signal_list signals_;
};

// contract: P7: one look for each stream
TEST_F(a_list, asks_only_the_oldest_of_each_stream) {
    const abi::stream s = make_stream();
    blocker gate;
    ASSERT_EQ(embedded::cuLaunchHostFunc(s, &blocker::run, &gate), 0);
    for (token t = 1; t <= 100; ++t)
        list(1, t, record_event(s));
    look();  // the first also asks those behind the oldest
    const auto before = hostlaunch_embedded_calls("cuEventQuery");
    EXPECT_TRUE(look().empty());
    EXPECT_EQ(hostlaunch_embedded_calls("cuEventQuery"), before + 1);
    gate.let_go();
    ASSERT_EQ(embedded::cuStreamSynchronize(s), 0);
    std::vector<token> found;
    EXPECT_TRUE(eventually([&] {
        for (const token t : look())
            found.push_back(t);
        return found.size() == 100;
    }));
    for (std::size_t i = 0; i < found.size(); ++i)
        EXPECT_EQ(found[i], i + 1);
}

// contract: P1: two threads may list in another order than they enqueued
TEST_F(a_list, finds_what_was_listed_behind_one_that_is_later) {
    const abi::stream s = make_stream();
    const abi::stream held = make_stream();
    blocker gate;
    ASSERT_EQ(embedded::cuLaunchHostFunc(held, &blocker::run, &gate), 0);
    list(1, 1, record_event(held));
    for (token t = 2; t <= 3000; ++t)
        list(1, t, record_event(s));
    ASSERT_EQ(embedded::cuStreamSynchronize(s), 0);
    std::size_t found = 0;
    EXPECT_TRUE(eventually([&] {
        found += look().size();
        return found == 2999;
    }));
    gate.let_go();
    ASSERT_EQ(embedded::cuStreamSynchronize(held), 0);
    EXPECT_EQ(look(), std::vector<token>{1});
}

// contract: P7
TEST_F(a_list, room_that_was_reserved_is_there_whatever_others_do) {
    for (int i = 0; i < 10'000; ++i)
        ASSERT_TRUE(signals_.reserve());
    EXPECT_TRUE(look().empty());
    for (int i = 0; i < 9'999; ++i)
        signals_.give_back();
    const abi::stream s = make_stream();
    signals_.list(7, {5, record_event(s), &alone});
    ASSERT_EQ(embedded::cuStreamSynchronize(s), 0);
    EXPECT_EQ(look(), std::vector<token>{5});
}

}  // namespace
}  // namespace hostlaunch::core
