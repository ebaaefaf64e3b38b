// SPDX-License-Identifier: Apache-2.0
// Exceptions that leave host functions, and errors of the C++ library itself.
#include <gtest/gtest.h>

#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include "contract/library_case.hpp"

namespace hostlaunch::test {
namespace {

using library_errors = with_a_stream<on_any_driver>;

std::mutex seen_mutex;
std::vector<std::string> seen;
std::atomic<pid_t> handled_on{0};

void remember(std::exception_ptr e) noexcept {
    handled_on = gettid();
    const std::lock_guard lock(seen_mutex);
    try {
        std::rethrow_exception(std::move(e));
    } catch (const std::exception& known) {
        seen.emplace_back(known.what());
    } catch (int number) {
        seen.push_back("int " + std::to_string(number));
    }
}
void ignore(std::exception_ptr) noexcept {}

// contract: C3
TEST_F(library_errors,
       an_exception_goes_to_the_handler_on_the_drivers_thread_and_the_stream_goes_on) {
    seen.clear();
    set_unhandled_exception_handler(&remember);
    pid_t ran_on = 0;
    std::atomic<int> after{0};
    host_launch(*s_, [&ran_on] {
        ran_on = gettid();
        throw std::runtime_error("the first");
    });
    host_launch(*s_, [] { throw 42; });
    host_launch(*s_, [&after] { ++after; });
    s_->sync();
    EXPECT_EQ(seen, (std::vector<std::string>{"the first", "int 42"}));
    EXPECT_EQ(handled_on, ran_on);
    EXPECT_EQ(after, 1);
    EXPECT_EQ(raised(), 2u);
    EXPECT_EQ(ran(), 1u);
}

// contract: C3
TEST_F(library_errors, an_exception_of_a_borrowed_callable_goes_to_the_handler_too) {
    seen.clear();
    set_unhandled_exception_handler(&remember);
    auto throws = [] { throw std::logic_error("borrowed"); };
    host_launch(*s_, std::ref(throws));
    s_->sync();
    EXPECT_EQ(seen, std::vector<std::string>{"borrowed"});
    EXPECT_EQ(raised(), 0u);  // not counted
}

// contract: C3
TEST_F(library_errors, by_default_an_exception_is_one_line_on_stderr) {
    testing::internal::CaptureStderr();
    host_launch(*s_, [] { throw std::runtime_error("what happened"); });
    host_launch(*s_, [] { throw 1; });
    s_->sync();
    EXPECT_TRUE(eventually([this] { return raised() == 2; }));
    const std::string text = testing::internal::GetCapturedStderr();
    EXPECT_EQ(text,
              "hostlaunch: an exception left a host function: what happened\n"
              "hostlaunch: an exception of unknown type left a host function\n");
}

// contract: C3
TEST_F(library_errors, setting_a_handler_returns_the_former_one_and_null_restores_the_default) {
    unhandled_exception_handler usual = set_unhandled_exception_handler(&ignore);
    EXPECT_NE(usual, nullptr);
    EXPECT_EQ(set_unhandled_exception_handler(&remember), &ignore);
    EXPECT_EQ(set_unhandled_exception_handler(nullptr), &remember);
    EXPECT_EQ(set_unhandled_exception_handler(nullptr), usual);
}

// contract: C3
TEST_F(library_errors, handlers_may_be_set_while_functions_throw) {
    set_unhandled_exception_handler(&ignore);
    std::atomic<bool> done{false};
    std::thread sets([&done] {
        while (!done) {
            set_unhandled_exception_handler(&remember);
            set_unhandled_exception_handler(&ignore);
        }
    });
    for (int i = 0; i < 500; ++i)
        host_launch(*s_, [] { throw std::runtime_error("again"); });
    s_->sync();
    done = true;
    sets.join();
    EXPECT_EQ(raised(), 500u);
}

// contract: C3
TEST_F(library_errors, of_misuse_have_negative_codes_and_names_of_their_own) {
    s_->close();
    try {
        host_launch(*s_, [] {});
        ADD_FAILURE() << "nothing was thrown";
    } catch (const error& e) {
        EXPECT_EQ(e.code(), static_cast<int>(misuse::closed));
        EXPECT_EQ(e.name(), "HOSTLAUNCH_ERROR_CLOSED");
    }
}

// contract: O4
TEST_F(library_errors, a_default_stream_without_a_context_says_how_to_set_one) {
    std::thread([] {
        for (std::uintptr_t token : {0, 1, 2}) {
            auto* handle = reinterpret_cast<CUstream_st*>(token);
            expect_misuse(misuse::no_context, [&] { host_launch(handle, [] {}); });
            expect_misuse(misuse::no_context, [&] { stream::from_handle(handle).sync(); });
            expect_misuse(misuse::no_context, [&] { stream::from_handle(handle).record(); });
            expect_misuse(misuse::no_context, [&] { stream::from_handle(handle).device_id(); });
        }
    }).join();
}

}  // namespace
}  // namespace hostlaunch::test
