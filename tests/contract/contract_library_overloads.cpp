// SPDX-License-Identifier: Apache-2.0
// Each overload of host_launch: which one a call takes, and what the function gets.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>

#include "contract/library_case.hpp"

namespace hostlaunch::test {
namespace {

class library_overloads : public with_a_stream<on_any_driver> {
  protected:
    // The newest launch took a record: the driver got a trampoline and a token.
    void expect_gated(std::uint64_t launches) { EXPECT_EQ(accepted(), launches); }
};

std::atomic<int> calls{0};
void count_call() {
    ++calls;
}
void count_in(void* counter) {
    ++*static_cast<std::atomic<int>*>(counter);
}

// contract: O1, O2
TEST_F(library_overloads, a_lambda_runs_once_on_a_thread_of_the_driver) {
    std::atomic<int> ran{0};
    std::atomic<pid_t> thread{0};
    host_launch(*s_, [&] {
        ++ran;
        thread = gettid();
    });
    s_->sync();
    EXPECT_EQ(ran, 1);
    EXPECT_NE(thread, gettid());
    expect_gated(1);
}

TEST_F(library_overloads, functions_and_pointers_to_them_are_callables) {
    calls = 0;
    host_launch(*s_, count_call);
    host_launch(*s_, &count_call);
    s_->sync();
    EXPECT_EQ(calls, 2);
    expect_gated(2);
}

TEST_F(library_overloads, arguments_are_copied_when_the_call_is_made) {
    std::string seen;
    std::string text = "before";
    blocker first;
    host_launch(*s_, std::ref(first));
    host_launch(*s_, [&seen](const std::string& t) { seen = t; }, text);
    text = "after";
    first.let_go();
    s_->sync();
    EXPECT_EQ(seen, "before");
}

TEST_F(library_overloads, callables_and_arguments_that_can_only_be_moved_arrive_as_rvalues) {
    int sum = 0;
    host_launch(
        *s_,
        [&sum, a = std::make_unique<int>(1)](std::unique_ptr<int> b, std::unique_ptr<int>&& c) {
            sum = *a + *b + *c;
        },
        std::make_unique<int>(2), std::make_unique<int>(4));
    s_->sync();
    EXPECT_EQ(sum, 7);
}

TEST_F(library_overloads, a_callable_that_may_be_called_only_once_is_called_as_an_rvalue) {
    struct once {
        bool* called;
        void operator()() && { *called = true; }
    };
    bool called = false;
    host_launch(*s_, once{&called});
    s_->sync();
    EXPECT_TRUE(called);
}

TEST_F(library_overloads, member_functions_and_literals_are_invoked_as_by_std_invoke) {
    struct object {
        std::string text;
        void append(const char* more) { text += more; }
    };
    object o;
    host_launch(*s_, &object::append, &o, "literal");
    s_->sync();
    EXPECT_EQ(o.text, "literal");
}

TEST_F(library_overloads, reference_wrapped_arguments_refer) {
    int value = 1;
    host_launch(*s_, [](int& v) { v = 2; }, std::ref(value));
    s_->sync();
    EXPECT_EQ(value, 2);
}

TEST_F(library_overloads, results_are_ignored) {
    host_launch(*s_, [] { return std::string("nobody reads this"); });
    s_->sync();
    EXPECT_EQ(ran(), 1u);
}

TEST_F(library_overloads, a_lambda_that_converts_to_a_function_pointer_stays_a_callable) {
    std::atomic<int> counter{0};
    host_launch(*s_, [](void* c) { count_in(c); }, static_cast<void*>(&counter));
    s_->sync();
    EXPECT_EQ(counter, 1);
    expect_gated(1);
}

// contract: U2
TEST_F(library_overloads, a_null_pointer_stays_null) {
    static std::atomic<bool> null_seen{false};
    host_launch(*s_, +[](void* p) { null_seen = p == nullptr; }, nullptr);
    s_->sync();
    EXPECT_TRUE(null_seen);
}

// contract: U3
TEST_F(library_overloads, no_bytes_are_a_null_pointer) {
    static std::atomic<bool> null_seen{false};
    host_launch(*s_, +[](void* p) { null_seen = p == nullptr; }, std::span<const std::byte>());
    s_->sync();
    EXPECT_TRUE(null_seen);
    EXPECT_TRUE(eventually([this] { return ran() == 1; }));
}

TEST_F(library_overloads, borrowed_constants_and_functions_are_called_too) {
    calls = 0;
    const auto constant = [] { ++calls; };
    host_launch(*s_, std::cref(constant));
    host_launch(*s_, std::ref(count_call));
    const std::function<void()> function(count_call);
    host_launch(*s_, std::cref(function));
    s_->sync();
    EXPECT_EQ(calls, 3);
    expect_gated(0);
}

TEST_F(library_overloads, every_overload_takes_a_handle_as_well_as_a_stream) {
    std::atomic<int> counter{0};
    const std::array<std::byte, 8> bytes{};
    auto borrowed = [&counter] { ++counter; };
    CUstream_st* handle = s_->handle();
    host_launch(handle, [&counter] { ++counter; });
    host_launch(handle, &count_in, &counter);
    host_launch(handle, +[](void*) {}, bytes);
    host_launch(handle, std::ref(borrowed));
    s_->sync();
    EXPECT_EQ(counter, 3);
}

template <class F>
void expect_null_refused(F&& launch) {
    EXPECT_EQ(code_thrown_by(std::forward<F>(launch)), abi::error_invalid_value);
}

// contract: C5
TEST_F(library_overloads, a_null_function_pointer_is_refused_at_the_call) {
    void (*none)(void*) = nullptr;
    expect_null_refused([&] { host_launch(*s_, none, nullptr); });
    const std::array<std::byte, 8> bytes{};
    expect_null_refused([&] { host_launch(*s_, none, bytes); });
    void (*plain)() = nullptr;
    expect_null_refused([&] { host_launch(*s_, plain); });
    expect_null_refused([&] { host_launch(*s_, std::ref(plain)); });
    void (*with_arguments)(int, const std::string&) = nullptr;
    expect_null_refused([&] { host_launch(*s_, with_arguments, 1, "text"); });
    std::string (std::string::*member)() const = nullptr;
    expect_null_refused([&] { host_launch(*s_, member, std::string()); });
    expect_null_refused([&] { host_launch(*s_, std::function<void()>()); });
    std::function<void(int)> empty;
    expect_null_refused([&] { host_launch(*s_, empty, 1); });
    s_->sync();
    expect_gated(0);
}

// contract: C5
TEST_F(library_overloads, what_only_looks_null_is_launched) {
    struct from_null {
        from_null(std::nullptr_t = nullptr) {}
        void operator()() const { count_call(); }
    };
    calls = 0;
    host_launch(*s_, from_null{});
    host_launch(*s_, [] { count_call(); });
    host_launch(*s_, [](const void* p) { calls += p == nullptr ? 1 : 100; }, nullptr);
    s_->sync();
    EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace hostlaunch::test
