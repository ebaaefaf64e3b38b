// SPDX-License-Identifier: Apache-2.0
// Callables through the C++ library: each is destroyed once, where it may be.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <stdexcept>

#include "contract/library_case.hpp"

namespace hostlaunch::test {
namespace {

using library_callables = with_a_stream<on_any_driver>;

bool destroyed_once(const fate& f) {
    return eventually([&f] { return f.destroyed >= 1; }) &&
           stays([&f] { return f.destroyed == 1; }, std::chrono::milliseconds(60));
}

// contract: C2
TEST_F(library_callables, a_callable_that_ran_is_destroyed_once_and_not_on_the_drivers_thread) {
    fate f;
    host_launch(*s_, watched(f));
    s_->sync();
    EXPECT_EQ(f.ran, 1);
    EXPECT_TRUE(destroyed_once(f));
    EXPECT_NE(f.destroyed_on, f.ran_on);
}

// contract: C2
TEST_F(library_callables, arguments_are_destroyed_as_the_callable_is) {
    fate f;
    pid_t ran_on = 0;
    host_launch(*s_, [&ran_on](const watched&) { ran_on = gettid(); }, watched(f));
    s_->sync();
    EXPECT_EQ(f.ran, 0);
    EXPECT_TRUE(destroyed_once(f));
    EXPECT_NE(f.destroyed_on, ran_on);
}

// contract: C2
TEST_F(library_callables, a_big_callable_is_destroyed_as_a_small_one_is) {
    fate f;
    std::array<char, 1000> big{};
    big[999] = 'x';
    char seen = 0;
    pid_t ran_on = 0;
    host_launch(*s_, [&, big, w = watched(f)] {
        seen = big[999];
        ran_on = gettid();
    });
    s_->sync();
    EXPECT_EQ(seen, 'x');
    EXPECT_TRUE(destroyed_once(f));
    EXPECT_NE(f.destroyed_on, ran_on);
}

// contract: C2, C3
TEST_F(library_callables, a_callable_that_threw_is_destroyed_once) {
    fate f;
    pid_t ran_on = 0;
    set_unhandled_exception_handler([](std::exception_ptr) noexcept {});
    host_launch(*s_, [&ran_on, w = watched(f)] {
        ran_on = gettid();
        throw std::runtime_error("thrown on purpose");
    });
    s_->sync();
    EXPECT_TRUE(destroyed_once(f));
    EXPECT_NE(f.destroyed_on, ran_on);
    EXPECT_EQ(raised(), 1u);
}

// contract: C2, S6
TEST_F(library_callables, a_callable_for_a_closed_stream_is_destroyed_before_the_call_throws) {
    fate f;
    s_->close();
    expect_misuse(misuse::closed, [&] { host_launch(*s_, watched(f)); });
    EXPECT_EQ(f.destroyed, 1);
    EXPECT_EQ(f.ran, 0);
}

// contract: C2
TEST_F(library_callables, thousands_of_callables_are_all_destroyed_once) {
    constexpr int launches = 5000;
    fate f;
    for (int i = 0; i < launches; ++i)
        host_launch(*s_, watched(f));
    s_->sync();
    EXPECT_EQ(f.ran, launches);
    EXPECT_TRUE(eventually([&f] { return f.destroyed == launches; }));
    EXPECT_NE(f.destroyed_on, f.ran_on);
}

struct throws_when_copied {
    fate* f;
    explicit throws_when_copied(fate& destroyed) : f(&destroyed) {}
    throws_when_copied(const throws_when_copied&) : f(nullptr) { throw std::runtime_error("copy"); }
    ~throws_when_copied() {
        if (f != nullptr) ++f->destroyed;
    }
    void operator()() const { ADD_FAILURE() << "ran"; }
};

TEST_F(library_callables, a_callable_whose_copy_throws_is_not_launched_and_leaves_nothing) {
    fate f;
    const throws_when_copied fn(f);
    EXPECT_THROW(host_launch(*s_, fn), std::runtime_error);
    EXPECT_EQ(accepted(), 0u);
    s_->sync();
}

TEST_F(library_callables, if_the_copy_of_an_argument_throws_the_callable_is_destroyed) {
    fate fn;
    fate argument;
    const throws_when_copied bad(argument);
    const auto takes_one = [](const watched&, const throws_when_copied&) {};
    EXPECT_THROW(host_launch(*s_, takes_one, watched(fn), bad), std::runtime_error);
    EXPECT_EQ(fn.destroyed, 1);
    const std::array<char, 100> bytes{};
    fate big;
    EXPECT_THROW(host_launch(
                     *s_, [bytes, w = watched(big)](const throws_when_copied&) {}, bad),
                 std::runtime_error);
    EXPECT_EQ(big.destroyed, 1);
    EXPECT_EQ(argument.destroyed, 0);
    EXPECT_EQ(accepted(), 0u);
}

template <std::size_t Alignment>
struct alignas(Alignment) aligned {
    std::atomic<std::uintptr_t>* remainder;
    void operator()() const { *remainder = reinterpret_cast<std::uintptr_t>(this) % Alignment; }
};

TEST_F(library_callables, callables_are_aligned_as_they_ask_for) {
    std::atomic<std::uintptr_t> remainders[4] = {1, 1, 1, 1};
    host_launch(*s_, aligned<8>{&remainders[0]});
    host_launch(*s_, aligned<64>{&remainders[1]});
    host_launch(*s_, aligned<128>{&remainders[2]});
    host_launch(*s_, aligned<4096>{&remainders[3]});
    s_->sync();
    for (const auto& r : remainders)
        EXPECT_EQ(r, 0u);
}

// contract: C2
TEST_F(library_callables, destructors_may_call_the_library) {
    struct launches_at_its_end {
        stream* s;
        std::atomic<int>* ran;
        launches_at_its_end(stream& on, std::atomic<int>& count) : s(&on), ran(&count) {}
        launches_at_its_end(launches_at_its_end&& other) noexcept
            : s(std::exchange(other.s, nullptr)), ran(other.ran) {}
        ~launches_at_its_end() {
            if (s == nullptr) return;
            host_launch(*s, [count = ran] { ++*count; });
            s->sync();
            ++*ran;
        }
        void operator()() const {}
    };
    std::atomic<int> ran{0};
    host_launch(*s_, launches_at_its_end(*s_, ran));
    EXPECT_TRUE(eventually([&ran] { return ran == 2; }));
}

// A callable may own what only the driver can destroy.
// contract: L2
TEST_F(library_callables, a_stream_owned_by_a_callable_is_destroyed_with_it) {
    const std::int64_t streams = live_of("streams");
    auto owned = std::make_shared<stream>();
    EXPECT_TRUE(are_live("streams", streams + 1));
    host_launch(*s_, [kept = std::move(owned)] {});
    s_->sync();
    EXPECT_TRUE(eventually([&] { return are_live("streams", streams); }));
}

// contract: L2
TEST_F(library_callables, objects_that_die_inside_a_host_function_are_destroyed_soon) {
    const std::int64_t streams = live_of("streams");
    const std::int64_t memory = live_of("host_memory");
    auto dying = std::make_unique<stream>();
    auto dying_buffer = std::make_unique<buffer>(64, buffer_kind::pinned);
    host_launch(*s_, [&] {
        dying.reset();
        dying_buffer.reset();
    });
    s_->sync();
    EXPECT_TRUE(
        eventually([&] { return are_live("streams", streams) && are_live("host_memory", memory); },
                   std::chrono::seconds(5)));
}

}  // namespace
}  // namespace hostlaunch::test
