// SPDX-License-Identifier: Apache-2.0
// Which threads run host functions, what those may call, and which calls block meanwhile.
#include <pthread.h>

#include <set>

#include "embedded/fixture.hpp"

namespace hostlaunch::embedded::test {
namespace {

using threads = embedded_driver;

struct concurrency {
    std::mutex mutex;
    std::set<std::thread::id> seen;
    int now = 0;
    int most = 0;

    static void run(void* self) { static_cast<concurrency*>(self)->note(); }
    void note() {
        {
            const std::lock_guard held(mutex);
            seen.insert(std::this_thread::get_id());
            most = std::max(most, ++now);
        }
        std::this_thread::yield();
        const std::lock_guard held(mutex);
        --now;
    }
};

// contract: O2
TEST_F(threads, one_thread_runs_the_functions_of_all_streams_of_a_context) {
    concurrency c;
    std::vector<stream> streams;
    for (int i = 0; i < 8; ++i) {
        streams.push_back(make_stream());
    }
    for (int i = 0; i < 400; ++i) {
        ASSERT_EQ(cuLaunchHostFunc(streams[static_cast<std::size_t>(i % 8)], concurrency::run, &c),
                  success);
    }
    ASSERT_EQ(cuCtxSynchronize(), success);
    EXPECT_EQ(c.seen.size(), 1u);
    EXPECT_EQ(c.most, 1);
    EXPECT_FALSE(c.seen.contains(std::this_thread::get_id()));
}

TEST_F(threads, two_contexts_run_functions_at_the_same_time) {
    context other = nullptr;
    ASSERT_EQ(cuCtxCreate_v2(&other, 0, 0), success);
    blocker there;
    ASSERT_EQ(cuLaunchHostFunc(nullptr, blocker::run, &there), success);
    ASSERT_EQ(cuCtxPopCurrent_v2(nullptr), success);
    blocker here;
    ASSERT_EQ(cuLaunchHostFunc(nullptr, blocker::run, &here), success);
    there.wait_until_running();
    here.wait_until_running();
    there.let_go();
    here.let_go();
    EXPECT_EQ(cuCtxDestroy_v2(other), success);
}

// contract: D4
TEST_F(threads, a_thread_per_stream_lets_streams_run_functions_at_the_same_time) {
    hostlaunch_embedded_set_threads(hostlaunch_embedded_threads_per_stream);
    blocker first;
    blocker second;
    ASSERT_EQ(cuLaunchHostFunc(make_stream(), blocker::run, &first), success);
    ASSERT_EQ(cuLaunchHostFunc(make_stream(), blocker::run, &second), success);
    first.wait_until_running();
    second.wait_until_running();
    first.let_go();
    second.let_go();
}

struct thread_ends {
    std::atomic<int> ended{0};
    static thread_local thread_ends* of_this_thread;
    static void run(void* self) {
        struct at_end {
            ~at_end() {
                if (of_this_thread != nullptr) {
                    ++of_this_thread->ended;
                }
            }
        };
        static thread_local at_end on_exit;
        static_cast<void>(on_exit);
        of_this_thread = static_cast<thread_ends*>(self);
    }
};
thread_local thread_ends* thread_ends::of_this_thread = nullptr;

// contract: D4
TEST_F(threads, a_fresh_thread_runs_one_function_and_ends) {
    hostlaunch_embedded_set_threads(hostlaunch_embedded_threads_fresh);
    const stream s = make_stream();
    thread_ends t;
    for (int i = 0; i < 20; ++i) {
        ASSERT_EQ(cuLaunchHostFunc(s, thread_ends::run, &t), success);
    }
    ASSERT_EQ(cuStreamSynchronize(s), success);
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (t.ended < 20 && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::yield();
    }
    EXPECT_EQ(t.ended, 20);
}

struct calls_inside {
    stream s;
    context ctx;
    std::atomic<int> more{0};
    result get_current = -1, alloc = -1, query = -1, launch = -1, sync = -1, name = -1;
    static void run(void* self) {
        auto& c = *static_cast<calls_inside*>(self);
        context current = nullptr;
        device_ptr memory = 0;
        const char* text = nullptr;
        c.get_current = cuCtxGetCurrent(&current);
        c.alloc = cuMemAlloc_v2(&memory, 8);
        c.query = cuStreamQuery(c.s);
        c.launch = cuLaunchHostFunc(c.s, count_up, &c.more);
        c.sync = cuStreamSynchronize(c.s);
        c.name = cuGetErrorName(0, &text);
    }
};

// contract: E3
TEST_F(threads, a_host_function_may_query_and_launch_and_nothing_that_blocks) {
    const stream s = make_stream();
    calls_inside c{s, ctx_};
    ASSERT_EQ(cuLaunchHostFunc(s, calls_inside::run, &c), success);
    ASSERT_EQ(hostlaunch_embedded_wait_idle(patience_ms), 0);
    EXPECT_EQ(c.get_current, error_not_permitted);
    EXPECT_EQ(c.alloc, error_not_permitted);
    EXPECT_EQ(c.query, error_not_ready);
    EXPECT_EQ(c.launch, success);
    EXPECT_EQ(c.sync, error_not_permitted);
    EXPECT_EQ(c.name, success);
    EXPECT_EQ(c.more, 1);
}

// contract: G3. What the documentation lists as blocking does block.
TEST_F(threads, frees_and_context_synchronisation_wait_for_a_running_function) {
    device_ptr device_memory = 0;
    void* host_memory = nullptr;
    ASSERT_EQ(cuMemAlloc_v2(&device_memory, 8), success);
    ASSERT_EQ(cuMemHostAlloc(&host_memory, 8, 0), success);
    blocker b;
    ASSERT_EQ(cuLaunchHostFunc(make_stream(), blocker::run, &b), success);
    b.wait_until_running();
    const auto current = [this](auto body) {
        return [this, body] {
            EXPECT_EQ(cuCtxSetCurrent(ctx_), success);
            EXPECT_EQ(body(), success);
        };
    };
    background frees(current([&] { return cuMemFree_v2(device_memory); }));
    background frees_host(current([&] { return cuMemFreeHost(host_memory); }));
    background waits(current([] { return cuCtxSynchronize(); }));
    for (const background* each : {&frees, &frees_host, &waits}) {
        each->wait_until_started();
    }
    give_it_time();
    EXPECT_FALSE(frees.finished() || frees_host.finished() || waits.finished());
    b.let_go();
}

TEST_F(threads, everything_else_returns_at_once_while_a_function_runs) {
    const stream s = make_stream();
    std::atomic<int> ran{0};
    blocker b;
    ASSERT_EQ(cuLaunchHostFunc(s, blocker::run, &b), success);
    b.wait_until_running();
    const event e = make_event();
    device_ptr memory = 0;
    void* host_memory = nullptr;
    const int word = 42;
    EXPECT_EQ(cuLaunchHostFunc(s, count_up, &ran), success);
    EXPECT_EQ(cuEventRecord(e, s), success);
    EXPECT_EQ(cuEventQuery(e), error_not_ready);
    EXPECT_EQ(cuMemAlloc_v2(&memory, 8), success);
    EXPECT_EQ(cuMemHostAlloc(&host_memory, 8, 0), success);
    EXPECT_EQ(cuMemcpyHtoD_v2(memory, &word, sizeof word), success);
    EXPECT_FALSE(b.has_ended());
    b.let_go();
    EXPECT_EQ(cuMemFree_v2(memory), success);
    EXPECT_EQ(cuMemFreeHost(host_memory), success);
}

TEST_F(threads, the_sync_of_another_stream_with_a_function_waits_for_the_running_one) {
    std::atomic<int> ran{0};
    const stream other = make_stream();
    blocker b;
    ASSERT_EQ(cuLaunchHostFunc(make_stream(), blocker::run, &b), success);
    b.wait_until_running();
    ASSERT_EQ(cuLaunchHostFunc(other, count_up, &ran), success);
    background waits([&] { EXPECT_EQ(cuStreamSynchronize(other), success); });
    waits.wait_until_started();
    give_it_time();
    EXPECT_FALSE(waits.finished());
    b.let_go();
}

TEST_F(threads, many_threads_launch_on_many_streams) {
    constexpr int workers = 8;
    constexpr int launches = 2000;
    std::atomic<int> ran{0};
    {
        std::vector<std::unique_ptr<background>> running;
        for (int i = 0; i < workers; ++i) {
            running.push_back(std::make_unique<background>([this, &ran] {
                stream s = nullptr;
                event e = nullptr;
                ASSERT_EQ(cuCtxSetCurrent(ctx_), success);
                ASSERT_EQ(cuStreamCreate(&s, stream_non_blocking), success);
                ASSERT_EQ(cuEventCreate(&e, event_disable_timing), success);
                for (int k = 0; k < launches; ++k) {
                    ASSERT_EQ(cuLaunchHostFunc(s, count_up, &ran), success);
                    ASSERT_EQ(cuEventRecord(e, s), success);
                    if (k % 64 == 0) {
                        ASSERT_EQ(cuEventSynchronize(e), success);
                    }
                }
                ASSERT_EQ(cuEventDestroy_v2(e), success);
                ASSERT_EQ(cuStreamDestroy_v2(s), success);
            }));
        }
    }
    EXPECT_EQ(hostlaunch_embedded_wait_idle(patience_ms), 0);
    EXPECT_EQ(ran, workers * launches);
}

struct callback_seen {
    stream s = nullptr;
    result status = -1;
    static void run(stream s, result status, void* self) {
        *static_cast<callback_seen*>(self) = {s, status};
    }
};

TEST_F(threads, a_stream_callback_gets_its_stream_and_its_status) {
    const stream s = make_stream();
    callback_seen seen;
    ASSERT_EQ(cuStreamAddCallback(s, callback_seen::run, &seen, 0), success);
    ASSERT_EQ(cuStreamSynchronize(s), success);
    EXPECT_EQ(seen.s, s);
    EXPECT_EQ(seen.status, success);
    EXPECT_EQ(cuStreamAddCallback(s, callback_seen::run, &seen, 1), error_invalid_value);
}

}  // namespace
}  // namespace hostlaunch::embedded::test
