// SPDX-License-Identifier: Apache-2.0
// Which threads run host functions, how many at a time, and what a function may call.
#include <set>

#include "contract/scene.hpp"

namespace hostlaunch::contract {
namespace {

using threads = driver_test;

// Notes who runs functions and how many run at once.
struct watch {
    std::mutex mutex;
    std::set<std::thread::id> seen;
    int now = 0;
    int most = 0;

    static void run(void* self) { static_cast<watch*>(self)->note(); }
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
TEST_F(threads, one_thread_runs_the_functions_of_all_streams_of_a_context_one_at_a_time) {
    watch& w = keep<watch>();
    std::vector<stream> streams;
    for (int i = 0; i < 8; ++i) {
        streams.push_back(make_stream(i % 2 == 0 ? stream_non_blocking : stream_default));
    }
    for (int i = 0; i < 400; ++i) {
        ASSERT_EQ(api().launch_host_func(streams[static_cast<std::size_t>(i % 8)], watch::run, &w),
                  success);
    }
    ASSERT_EQ(api().ctx_synchronize(), success);
    EXPECT_EQ(w.seen.size(), 1u);
    EXPECT_EQ(w.most, 1);
    EXPECT_FALSE(w.seen.contains(std::this_thread::get_id()));
}

TEST_F(threads, a_function_delays_those_of_the_other_streams_of_its_context) {
    const stream other = make_stream();
    std::atomic<int>& ran = make_counter();
    blocker& g = hold(make_stream());
    ASSERT_EQ(launch(other, ran), success);
    call& sync = elsewhere([other] { return api().stream_synchronize(other); });
    EXPECT_TRUE(sync.blocks());
    EXPECT_EQ(ran, 0);
    g.let_go();
    EXPECT_EQ(sync.answer(), success);
    EXPECT_EQ(ran, 1);
}

TEST_F(threads, a_second_context_has_a_thread_of_its_own) {
    const stream there = make_stream_in(make_context());
    blocker& here = hold(make_stream());
    blocker& other = hold(there);  // runs while the first one does
    EXPECT_TRUE(here.is_held());
    EXPECT_TRUE(other.is_held());
}

TEST_F(threads, a_second_device_has_a_thread_of_its_own) {
    int devices = 0;
    ASSERT_EQ(api().device_get_count(&devices), success);
    if (devices < 2) GTEST_SKIP() << "one device";
    const stream there = make_stream_in(make_context(1));
    blocker& here = hold(make_stream());
    blocker& other = hold(there);
    EXPECT_TRUE(here.is_held());
    EXPECT_TRUE(other.is_held());
}

TEST_F(threads, launches_from_many_threads_all_run_in_the_order_of_their_stream) {
    constexpr int workers = 4;
    constexpr int launches = 2000;
    std::vector<journal*> books;
    std::vector<call*> calls;
    for (int w = 0; w < workers; ++w) {
        const stream s = make_stream();
        journal& book = *books.emplace_back(&keep<journal>());
        calls.push_back(&elsewhere([s, &book] {
            for (int i = 0; i < launches; ++i) {
                if (const result code = launch(s, book, i)) return code;
            }
            return api().stream_synchronize(s);
        }));
    }
    for (int w = 0; w < workers; ++w) {
        ASSERT_EQ(calls[static_cast<std::size_t>(w)]->answer(), success);
        const std::vector<int> written = books[static_cast<std::size_t>(w)]->written();
        EXPECT_EQ(written.size(), static_cast<std::size_t>(launches));
        EXPECT_TRUE(std::is_sorted(written.begin(), written.end()));
    }
}

struct calls_inside {
    stream own;
    std::atomic<int> more{0};
    result get_current = -1, alloc = -1, query = -1, launch = -1;
    static void run(void* self) {
        calls_inside& c = *static_cast<calls_inside*>(self);
        context current = nullptr;
        device_ptr memory = 0;
        c.get_current = api().ctx_get_current(&current);
        c.alloc = api().mem_alloc(&memory, 8);
        c.query = api().stream_query(c.own);
        c.launch = api().launch_host_func(c.own, count_up, &c.more);
    }
};

// contract: E3
TEST_F(threads, inside_a_function_the_driver_refuses_calls_but_takes_queries_and_launches) {
    calls_inside& c = keep<calls_inside>();
    c.own = make_stream();
    ASSERT_EQ(api().launch_host_func(c.own, calls_inside::run, &c), success);
    ASSERT_EQ(api().stream_synchronize(c.own), success);
    EXPECT_EQ(c.get_current, error_not_permitted);
    EXPECT_EQ(c.alloc, error_not_permitted);
    EXPECT_EQ(c.query, error_not_ready);
    EXPECT_EQ(c.launch, success);
    ASSERT_EQ(api().stream_synchronize(c.own), success);
    EXPECT_EQ(c.more, 1);
}

// contract: O4
TEST_F(threads, a_thread_without_a_context_can_use_a_created_stream) {
    const stream s = make_stream();
    std::atomic<int>& ran = make_counter();
    const auto uses = [s, &ran] {
        capture_status status{};
        context current = nullptr;
        EXPECT_EQ(launch(s, ran), success);
        EXPECT_EQ(api().stream_is_capturing(s, &status), success);
        EXPECT_EQ(api().ctx_get_current(&current), success);
        EXPECT_EQ(current, nullptr);
        return api().stream_synchronize(s);
    };
    EXPECT_EQ(elsewhere(nullptr, uses).answer(), success);
    EXPECT_EQ(ran, 1);
}

// contract: O4
TEST_F(threads, a_thread_with_another_context_can_use_a_created_stream) {
    const stream s = make_stream();
    const context other = make_context();
    std::atomic<int>& ran = make_counter();
    const auto uses = [s, other, &ran] {
        context current = nullptr;
        EXPECT_EQ(launch(s, ran), success);
        EXPECT_EQ(api().ctx_get_current(&current), success);
        EXPECT_EQ(current, other);
        return api().stream_synchronize(s);
    };
    EXPECT_EQ(elsewhere(other, uses).answer(), success);
    EXPECT_EQ(ran, 1);
}

// contract: O4
TEST_F(threads, default_streams_and_event_creation_need_a_current_context) {
    std::atomic<int>& ran = make_counter();
    const auto uses = [&ran] {
        event e = nullptr;
        for (const stream s : {stream{nullptr}, stream_legacy, stream_per_thread}) {
            EXPECT_EQ(launch(s, ran), error_invalid_context);
        }
        return api().event_create(&e, event_disable_timing);
    };
    EXPECT_EQ(elsewhere(nullptr, uses).answer(), error_invalid_context);
    EXPECT_EQ(ran, 0);
}

}  // namespace
}  // namespace hostlaunch::contract
