// SPDX-License-Identifier: Apache-2.0
// Each overload of host_launch: what the driver gets, from its log.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>

#include "surface/fixture.hpp"

namespace hostlaunch::test {
namespace {

class overloads : public on_a_stream {
  protected:
    void SetUp() override {
        on_a_stream::SetUp();
        hostlaunch_embedded_set_log(1);
    }
    // The newest launch took a record: the driver got a trampoline and a token.
    void expect_gated(std::uint64_t launches) { EXPECT_EQ(accepted(), launches); }
    void expect_as_is(void (*fn)(void*), const void* user_data) {
        const logged_launch newest = newest_launch();
        EXPECT_EQ(newest.fn, reinterpret_cast<std::uint64_t>(fn));
        EXPECT_EQ(newest.user_data, reinterpret_cast<std::uint64_t>(user_data));
        EXPECT_EQ(accepted(), 0u);
    }
};

void count_in(void* counter) {
    ++*static_cast<std::atomic<int>*>(counter);
}
void count_noexcept(void* counter) noexcept {
    ++*static_cast<std::atomic<int>*>(counter);
}

// contract: F2
TEST_F(overloads, a_function_pointer_with_a_pointer_goes_to_the_driver_as_is) {
    std::atomic<int> counter{0};
    host_launch(*s_, &count_in, &counter);
    expect_as_is(&count_in, &counter);
    host_launch(*s_, count_in, static_cast<void*>(&counter));
    expect_as_is(&count_in, &counter);
    host_launch(*s_, &count_noexcept, &counter);
    expect_as_is(&count_noexcept, &counter);
    s_->sync();
    EXPECT_EQ(counter, 3);
}

struct message {
    std::atomic<int>* done;
    std::array<char, 100> text;
};
std::string last_text;
void read_message(void* data) {
    message m{};
    std::memcpy(&m, data, sizeof m);
    last_text = m.text.data();
    ++*m.done;
}

// contract: U3
TEST_F(overloads, bytes_are_copied_aligned_and_live_until_the_function_has_run) {
    std::atomic<int> done{0};
    blocker first;
    {
        message m{&done, {"before"}};
        host_launch(*s_, std::ref(first));
        host_launch(*s_, &read_message, std::as_bytes(std::span(&m, 1)));
        m = {nullptr, {"after"}};
    }
    const logged_launch newest = newest_launch();
    EXPECT_EQ(newest.fn, reinterpret_cast<std::uint64_t>(&read_message));
    EXPECT_EQ(newest.user_data % 64, 0u);
    EXPECT_EQ(accepted(), 1u);
    first.let_go();
    s_->sync();
    EXPECT_EQ(done, 1);
    EXPECT_EQ(last_text, "before");
    EXPECT_TRUE(eventually([this] { return ran() == 1; }));
}

TEST_F(overloads, a_borrowed_callable_is_called_where_it_lies_and_not_counted) {
    struct counter {
        int count = 0;
        void operator()() { ++count; }
    };
    counter c;
    host_launch(*s_, std::ref(c));
    EXPECT_EQ(newest_launch().user_data, reinterpret_cast<std::uint64_t>(&c));
    host_launch(*s_, std::ref(c));
    s_->sync();
    EXPECT_EQ(c.count, 2);
    expect_gated(0);
}

}  // namespace
}  // namespace hostlaunch::test
