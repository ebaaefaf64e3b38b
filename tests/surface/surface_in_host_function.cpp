// SPDX-License-Identifier: Apache-2.0
// Calls from inside host functions: refused at once, before they enter the driver.
#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "surface/fixture.hpp"

namespace hostlaunch::test {
namespace {

struct objects {
    stream& s;
    event& e;
    buffer& a;
    buffer& b;
};

struct named_call {
    const char* name;
    std::function<void(objects&)> call;
};

const named_call refused_calls[] = {
    {"launch", [](objects& o) { host_launch(o.s, [] {}); }},
    {"launch as is", [](objects& o) { host_launch(o.s, +[](void*) {}, nullptr); }},
    {"launch of bytes",
     [](objects& o) { host_launch(o.s, +[](void*) {}, std::span<const std::byte>()); }},
    {"launch by handle", [](objects& o) { host_launch(o.s.handle(), [] {}); }},
    {"stream()", [](objects&) { stream made; }},
    {"sync", [](objects& o) { o.s.sync(); }},
    {"device_id", [](objects& o) { (void)o.s.device_id(); }},
    {"record", [](objects& o) { (void)o.s.record(); }},
    {"record again", [](objects& o) { o.s.record(o.e); }},
    {"wait for an event", [](objects& o) { o.s.wait(o.e); }},
    {"wait for a stream", [](objects& o) { o.s.wait(o.s); }},
    {"event sync", [](objects& o) { o.e.sync(); }},
    {"is_done", [](objects& o) { (void)o.e.is_done(); }},
    {"buffer()", [](objects&) { buffer made(16); }},
    {"copy_to", [](objects& o) { o.a.copy_to(o.b, o.s); }},
    {"copy_from", [](objects& o) { o.a.copy_from(o.b, o.s); }},
    {"fill", [](objects& o) { o.a.fill(std::byte{1}, o.s); }},
};

void expect_all_refused(objects& o) {
    for (const named_call& c : refused_calls) {
        SCOPED_TRACE(c.name);
        expect_misuse(misuse::in_host_function, [&] { c.call(o); });
    }
}

class inside : public on_a_stream {
  protected:
    void SetUp() override {
        on_a_stream::SetUp();
        e_.emplace(s_->record());
        a_.emplace(std::size_t{64}, buffer_kind::device, 0);
        b_.emplace(std::size_t{64}, buffer_kind::pinned, 0);
        objects_.emplace(objects{*s_, *e_, *a_, *b_});
        hostlaunch_embedded_set_log(1);
    }
    void TearDown() override {
        e_.reset();
        a_.reset();
        b_.reset();
        on_a_stream::TearDown();
    }
    // Driver calls that were made on threads that run host functions.
    std::vector<std::string> calls_inside() {
        std::vector<std::string> entries;
        hostlaunch_embedded_call call{};
        for (int i = 0; hostlaunch_embedded_log_get(i, &call) == 0; ++i) {
            if (call.in_host_function != 0) entries.emplace_back(call.entry);
        }
        return entries;
    }

    std::optional<event> e_;
    std::optional<buffer> a_;
    std::optional<buffer> b_;
    std::optional<objects> objects_;
};

// contract: E3
TEST_F(inside, a_callable_every_call_that_would_enter_the_driver_is_refused_before_it) {
    host_launch(*s_, [this] { expect_all_refused(*objects_); });
    s_->sync();
    EXPECT_EQ(calls_inside(), std::vector<std::string>());
    EXPECT_EQ(raised(), 0u);
    EXPECT_EQ(accepted(), 1u);
}

// contract: E3
TEST_F(inside, a_borrowed_callable_they_are_refused_too) {
    auto borrowed = [this] { expect_all_refused(*objects_); };
    host_launch(*s_, std::ref(borrowed));
    s_->sync();
    EXPECT_EQ(calls_inside(), std::vector<std::string>());
}

// contract: E3
TEST_F(inside, the_handler_of_exceptions_they_are_refused_too) {
    static std::atomic<int> code{0};
    static stream* on = nullptr;
    on = &*s_;
    set_unhandled_exception_handler(
        [](std::exception_ptr) noexcept { code = code_thrown_by([] { on->sync(); }); });
    host_launch(*s_, [] { throw 1; });
    s_->sync();
    EXPECT_TRUE(eventually([] { return code == static_cast<int>(misuse::in_host_function); }));
}

// contract: E3
TEST_F(inside, an_as_is_function_blocking_calls_are_refused_instead_of_deadlocking) {
    const auto block = [](void* given) {
        objects& o = *static_cast<objects*>(given);
        expect_misuse(misuse::in_host_function, [&o] { o.s.sync(); });
        expect_misuse(misuse::in_host_function, [&o] { o.e.sync(); });
    };
    host_launch(*s_, +block, &*objects_);
    s_->sync();
}

// contract: E3
TEST_F(inside, an_as_is_function_other_calls_fail_and_change_nothing) {
    const auto call_all = [](void* given) {
        objects& o = *static_cast<objects*>(given);
        for (const named_call& c : refused_calls) {
            SCOPED_TRACE(c.name);
            const std::string name = c.name;
            if (name == "device_id" || name == "is_done") continue;  // the driver answers these
            EXPECT_NE(code_thrown_by([&] { c.call(o); }), 0);
        }
    };
    host_launch(*s_, +call_all, &*objects_);
    s_->sync();
    EXPECT_EQ(accepted(), 0u);
    EXPECT_FALSE(s_->is_closed());
}

// contract: E3
TEST_F(inside, what_does_not_enter_the_driver_works) {
    host_launch(*s_, [this] {
        EXPECT_GE(stats().running, 1u);
        EXPECT_FALSE(s_->is_closed());
        EXPECT_NE(s_->handle(), nullptr);
        EXPECT_EQ(a_->nbytes(), 64u);
        EXPECT_EQ(b_->bytes().size(), 64u);
        set_unhandled_exception_handler(nullptr);
    });
    s_->sync();
    EXPECT_EQ(raised(), 0u);
}

// contract: E3
TEST_F(inside, the_thread_is_an_ordinary_one_again_after_an_exception) {
    set_unhandled_exception_handler([](std::exception_ptr) noexcept {});
    host_launch(*s_, [] { throw 1; });
    const auto ask = [](void* given) {
        // Not refused by us: it goes to the driver, which knows better.
        const int code = code_thrown_by([given] { static_cast<objects*>(given)->s.record(); });
        EXPECT_EQ(code, abi::error_not_permitted);
    };
    host_launch(*s_, +ask, &*objects_);
    s_->sync();
}

// contract: L2
TEST_F(inside, closing_never_enters_the_driver) {
    host_launch(*s_, [this] {
        e_->close();
        a_->close();
        b_->close();
        EXPECT_TRUE(a_->is_closed());
    });
    s_->sync();
    EXPECT_EQ(calls_inside(), std::vector<std::string>());
    EXPECT_TRUE(eventually([] { return hostlaunch_embedded_live("host_memory") == 0; },
                           std::chrono::seconds(5)));
}

}  // namespace
}  // namespace hostlaunch::test
