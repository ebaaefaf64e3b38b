// SPDX-License-Identifier: Apache-2.0
// submit and work_done of the C++ library.
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <thread>

#include "surface/coroutine.hpp"
#include "surface/fixture.hpp"

// After the fixture, whose headers of the driver know no other stream than their own.
#include "hostlaunch/future.hpp"

namespace hostlaunch::test {
namespace {

using std::chrono::seconds;

class futures : public on_a_stream {
  protected:
    // Holds the stream until `gate_` is released.
    void hold() {
        host_launch(*s_, [this] { gate_.acquire(); });
    }

    std::binary_semaphore gate_{0};
};

template <class R>
bool is_ready(const std::future<R>& f) {
    return f.wait_for(seconds(0)) == std::future_status::ready;
}

template <class R>
R get(std::future<R>& f) {
    if (f.wait_for(seconds(20)) != std::future_status::ready) throw std::runtime_error("not ready");
    return f.get();
}

// contract: P1, P9
TEST_F(futures, a_function_starts_once_the_stream_gets_there) {
    hold();
    std::future<int> sum = submit(*s_, [](int a, int b) { return a + b; }, 2, 3);
    EXPECT_FALSE(is_ready(sum));
    gate_.release();
    EXPECT_EQ(get(sum), 5);
}

// contract: P1
TEST_F(futures, functions_of_one_stream_start_in_order) {
    hold();
    std::atomic<int> started{0};
    // Each waits until all before it have started: were one taken too early, all threads would come
    // to wait for it.
    const auto start = [&started](int i) {
        if (!eventually([&] { return started == i; })) return false;
        ++started;
        return true;
    };
    std::vector<std::future<bool>> all;
    for (int i = 0; i < 500; ++i)
        all.push_back(submit(*s_, start, i));
    gate_.release();
    for (auto& f : all)
        EXPECT_TRUE(get(f));
}

// contract: P1, P2
TEST_F(futures, the_stream_goes_on_and_the_function_may_use_it) {
    std::future<bool> done = submit(*s_, [this] {
        gate_.acquire();
        s_->sync();
        return s_->record().is_done();
    });
    s_->sync();
    EXPECT_FALSE(is_ready(done));
    gate_.release();
    EXPECT_TRUE(get(done));
}

// contract: P9, C1: move-only callables, arguments and results; large ones too
TEST_F(futures, moves_what_it_is_given) {
    auto given = std::make_unique<int>(7);
    std::future<std::unique_ptr<int>> moved =
        submit(*s_, [](std::unique_ptr<int> p) { return p; }, std::move(given));
    EXPECT_EQ(*get(moved), 7);
    const std::array<char, 500> large{'x'};
    std::future<char> first = submit(*s_, [large] { return large[0]; });
    EXPECT_EQ(get(first), 'x');
}

// contract: P3, P9, C3: the exception is the outcome, and not unhandled
TEST_F(futures, an_exception_is_the_outcome) {
    set_unhandled_exception_handler([](std::exception_ptr) noexcept { std::abort(); });
    std::future<int> thrown = submit(*s_, []() -> int { throw std::out_of_range("here"); });
    EXPECT_THROW(get(thrown), std::out_of_range);
    EXPECT_TRUE(eventually([this] { return raised() == 1; }));
}

// contract: C2
TEST_F(futures, the_callable_is_destroyed_once_and_on_no_thread_of_the_pool) {
    struct tells {
        std::atomic<int>* destroyed;
        std::atomic<std::thread::id>* where;
        tells(std::atomic<int>* d, std::atomic<std::thread::id>* w) : destroyed(d), where(w) {}
        tells(tells&& from) noexcept
            : destroyed(std::exchange(from.destroyed, nullptr)), where(from.where) {}
        ~tells() {
            if (destroyed == nullptr) return;
            where->store(std::this_thread::get_id());
            destroyed->fetch_add(1);
        }
    };
    std::atomic<int> destroyed{0};
    std::atomic<std::thread::id> where;
    std::future<std::thread::id> ran =
        submit(*s_, [t = tells(&destroyed, &where)] { return std::this_thread::get_id(); });
    const std::thread::id pool = get(ran);
    EXPECT_TRUE(eventually([&] { return destroyed == 1; }));
    EXPECT_NE(where.load(), pool);
    EXPECT_NE(pool, std::this_thread::get_id());
}

// contract: P5, S5, S6, L3
TEST_F(futures, refuses_what_host_launch_refuses) {
    stream closed;
    closed.close();
    EXPECT_THROW((void)submit(closed, [] {}), error);
    graph_builder builder(*s_);
    builder.begin_building();
    auto kept = std::make_shared<int>();
    try {
        (void)submit(*s_, [kept] {});
        ADD_FAILURE() << "accepted";
    } catch (const error& e) {
        EXPECT_EQ(e.code(), static_cast<int>(misuse::capturing));
    }
    EXPECT_EQ(kept.use_count(), 1);
    builder.end_building();
    std::atomic<int> refused{0};
    host_launch(*s_, [this, &refused] {
        try {
            (void)submit(*s_, [] {});
        } catch (const error& e) {
            refused = e.code();
        }
    });
    s_->sync();
    EXPECT_EQ(refused, static_cast<int>(misuse::in_host_function));
}

// contract: P5, L3
TEST_F(futures, a_refusal_of_the_driver_destroys_what_was_passed) {
    (void)submit(*s_, [] {}).get();
    auto kept = std::make_shared<int>();
    hostlaunch_embedded_fail_call("cuEventRecord", 1, abi::error_launch_failed);
    EXPECT_THROW((void)submit(*s_, [kept] {}), error);
    EXPECT_EQ(kept.use_count(), 1);
}

detached_task count_when_done(stream_ref s, std::atomic<int>& count) {
    co_await work_done(s);
    count.fetch_add(1);
    co_await work_done(s);
    count.fetch_add(1);
}

// contract: P9
TEST_F(futures, a_coroutine_is_resumed_once_the_stream_gets_there) {
    hold();
    std::atomic<int> count{0};
    count_when_done(*s_, count);
    EXPECT_EQ(count, 0);
    gate_.release();
    EXPECT_TRUE(eventually([&] { return count == 2; }));
}

detached_task catch_refusal(stream_ref s, int& code) {
    try {
        co_await work_done(s);
    } catch (const error& e) {
        code = e.code();
    }
}

// contract: P9, S6
TEST_F(futures, a_coroutine_gets_the_refusal) {
    stream closed;
    closed.close();
    int code = 0;
    catch_refusal(closed, code);
    EXPECT_EQ(code, static_cast<int>(misuse::closed));
}

detached_task own_a_stream(std::atomic<int>& done) {
    stream own;
    co_await work_done(own);
    done.fetch_add(1);
}

// contract: P9: the stream may end while the call that enqueued returns
TEST_F(futures, a_coroutine_may_own_the_stream_that_it_awaits) {
    std::atomic<int> done{0};
    for (int i = 0; i < 200; ++i)
        own_a_stream(done);
    EXPECT_TRUE(eventually([&] { return done == 200; }));
    // Streams that die on a pool's thread are destroyed elsewhere, soon.
    EXPECT_TRUE(eventually([] { return hostlaunch_embedded_live("streams") == 1; }));
}

detached_task throw_out(stream_ref s) {
    co_await work_done(s);
    throw std::runtime_error("nobody takes it");
}

std::atomic<int> unhandled{0};

// contract: P9, C3
TEST_F(futures, what_leaves_a_coroutine_goes_to_the_handler) {
    set_unhandled_exception_handler([](std::exception_ptr) noexcept { unhandled.fetch_add(1); });
    throw_out(*s_);
    EXPECT_TRUE(eventually([] { return unhandled == 1; }));
}

}  // namespace
}  // namespace hostlaunch::test
