// SPDX-License-Identifier: Apache-2.0
// Many threads on many streams: order, payloads, and closing while others launch.
#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <memory>
#include <thread>

#include "surface/fixture.hpp"

namespace hostlaunch::test {
namespace {

constexpr int launchers = 4;
constexpr int streams = 3;
constexpr int each = 500;

// What one launch carries; `check` follows from the rest.
struct parcel {
    int thread;
    int stream;
    int number;
    int check;
    bool whole() const { return check == thread * 1'000'003 + stream * 10'007 + number; }
};
parcel make_parcel(int thread, int stream, int number) {
    return {thread, stream, number, thread * 1'000'003 + stream * 10'007 + number};
}

// Next number expected from each thread on one stream; written by the stream's functions only.
struct ledger {
    std::array<int, launchers> next{};
    int mixed = 0;
    int out_of_order = 0;
    void enter(const parcel& p, int stream) {
        if (!p.whole() || p.stream != stream) ++mixed;
        if (next[static_cast<std::size_t>(p.thread)]++ != p.number) ++out_of_order;
    }
};

class threads : public on_embedded, public testing::WithParamInterface<int> {};

struct task {
    ledger* book;
    parcel p;
};
void enter_task(void* data) {
    const task& t = *static_cast<task*>(data);
    t.book->enter(t.p, t.p.stream);
}

// Every kind of launch in turn.
void launch_one(stream& s, ledger& book, const parcel& p) {
    const int stream = p.stream;
    switch (p.number % 4) {
        case 0:
            host_launch(s, [&book, p, stream] { book.enter(p, stream); });
            break;
        case 1: {
            const task t{&book, p};
            host_launch(s, &enter_task, std::as_bytes(std::span(&t, 1)));
            break;
        }
        case 2:
            host_launch(
                s, [&book, stream](std::unique_ptr<parcel> own) { book.enter(*own, stream); },
                std::make_unique<parcel>(p));
            break;
        default:
            host_launch(s, [&book, p, stream, big = std::array<int, 40>{}] {
                if (big[39] != 0) ++book.mixed;
                book.enter(p, stream);
            });
    }
}

// contract: O1, X4
TEST_P(threads, on_shared_streams_keep_their_order_and_their_payloads) {
    hostlaunch_embedded_set_threads(GetParam());
    std::array<ledger, streams> books;
    {
        std::array<stream, streams> shared;
        std::barrier start(launchers);
        std::vector<std::thread> workers;
        for (int t = 0; t < launchers; ++t) {
            workers.emplace_back([&, t] {
                start.arrive_and_wait();
                for (int n = 0; n < each; ++n) {
                    for (int s = 0; s < streams; ++s) {
                        const auto at = static_cast<std::size_t>(s);
                        launch_one(shared[at], books[at], make_parcel(t, s, n));
                    }
                }
            });
        }
        for (std::thread& w : workers)
            w.join();
        for (stream& s : shared)
            s.sync();
    }
    for (const ledger& book : books) {
        EXPECT_EQ(book.mixed, 0);
        EXPECT_EQ(book.out_of_order, 0);
        for (const int n : book.next)
            EXPECT_EQ(n, each);
    }
    EXPECT_EQ(accepted(), std::uint64_t{launchers} * streams * each);
}

std::string mode_name(const testing::TestParamInfo<int>& mode) {
    return std::array{"one_per_context", "one_per_stream", "a_fresh_one"}.at(
        static_cast<std::size_t>(mode.param));
}
INSTANTIATE_TEST_SUITE_P(callback_thread, threads, testing::Range(0, 3), mode_name);

class closing : public on_embedded {
  protected:
    void SetUp() override {
        on_embedded::SetUp();
        streams_before_ = hostlaunch_embedded_live("streams");
    }
    std::int64_t streams_alive() const {
        return hostlaunch_embedded_live("streams") - streams_before_;
    }

  private:
    std::int64_t streams_before_ = 0;
};

// contract: S6
TEST_F(closing, a_stream_while_others_launch_on_it_loses_no_accepted_launch) {
    constexpr int rounds = 100;
    std::atomic<int> accepted_here{0};
    std::atomic<int> ran_here{0};
    std::atomic<int> wrong{0};
    std::optional<stream> shared;
    std::barrier step(launchers + 1);
    std::vector<std::thread> workers;
    for (int t = 0; t < launchers; ++t) {
        workers.emplace_back([&] {
            for (int round = 0; round < rounds; ++round) {
                step.arrive_and_wait();
                try {
                    for (int n = 0; n < 1000; ++n) {
                        host_launch(*shared, [&ran_here] { ++ran_here; });
                        ++accepted_here;
                    }
                } catch (const error& e) {
                    if (e.code() != static_cast<int>(misuse::closed)) ++wrong;
                }
                step.arrive_and_wait();
            }
        });
    }
    for (int round = 0; round < rounds; ++round) {
        shared.emplace();
        step.arrive_and_wait();
        for (int i = 0; i < round % 10; ++i)
            std::this_thread::yield();
        shared->close();
        step.arrive_and_wait();
        shared.reset();
    }
    for (std::thread& w : workers)
        w.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_TRUE(eventually([&] { return ran_here == accepted_here; }));
    EXPECT_EQ(streams_alive(), 0);
}

// contract: S6
TEST_F(closing, waits_for_calls_in_progress_and_the_last_one_out_destroys) {
    stream s;
    std::atomic<int> ran{0};
    ASSERT_EQ(hostlaunch_embedded_hold("cuLaunchHostFunc"), 0);
    std::thread launches([&] { host_launch(s, [&ran] { ++ran; }); });
    ASSERT_EQ(hostlaunch_embedded_wait_held("cuLaunchHostFunc", 1, patience_ms), 1);
    s.close();
    EXPECT_EQ(streams_alive(), 1);
    hostlaunch_embedded_release("cuLaunchHostFunc");
    launches.join();
    EXPECT_EQ(streams_alive(), 0);
    EXPECT_TRUE(eventually([&ran] { return ran == 1; }));
}

// contract: S6
TEST_F(closing, from_many_threads_destroys_once) {
    for (int round = 0; round < 100; ++round) {
        stream s;
        std::barrier start(launchers);
        std::vector<std::thread> workers;
        for (int t = 0; t < launchers; ++t) {
            workers.emplace_back([&] {
                start.arrive_and_wait();
                s.close();
            });
        }
        for (std::thread& w : workers)
            w.join();
        ASSERT_EQ(streams_alive(), 0);
    }
}

using counts = on_a_stream;

// contract: O1
TEST_F(counts, show_what_is_pending_and_what_is_running) {
    blocker first;
    host_launch(*s_, [&first] { first(); });
    first.wait_until_running();
    for (int i = 0; i < 3; ++i)
        host_launch(*s_, [] {});
    const launch_stats during = stats();
    EXPECT_EQ(during.running, 1u);
    EXPECT_EQ(during.pending, 3u);
    EXPECT_EQ(accepted(), 4u);
    first.let_go();
    s_->sync();
    EXPECT_TRUE(eventually(nothing_outstanding));
    EXPECT_EQ(ran(), 4u);
}

// contract: O3
TEST_F(counts, a_launch_returns_while_the_stream_is_blocked) {
    blocker first;
    host_launch(*s_, std::ref(first));
    first.wait_until_running();
    for (int i = 0; i < 2000; ++i)
        host_launch(*s_, [] {});  // would hang here
    first.let_go();
    s_->sync();
    EXPECT_EQ(ran(), 2000u);
}

}  // namespace
}  // namespace hostlaunch::test
