// SPDX-License-Identifier: Apache-2.0
// The fixture of the cases: a current context, and things that live until all work has run.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "contract/waiting.hpp"

namespace hostlaunch::contract {

// What host functions wrote down, in the order in which they ran.
class journal {
  public:
    struct line {
        journal* book;
        int value;
    };

    // For the driver: enter(line_of(value)) writes the value down.
    void* line_of(int value) { return &lines_.emplace_back(this, value); }
    static void enter(void* entry) {
        const line& l = *static_cast<line*>(entry);
        const std::lock_guard held(l.book->mutex_);
        l.book->written_.push_back(l.value);
    }
    std::vector<int> written() {
        const std::lock_guard held(mutex_);
        return written_;
    }

  private:
    std::deque<line> lines_;
    std::mutex mutex_;
    std::vector<int> written_;
};

// Memory that a stream waits on until it is released: work behind it is held without a host
// function.
struct value_gate {
    std::uint32_t* word = nullptr;
    device_ptr address = 0;

    void release() const { std::atomic_ref(*word).store(1, std::memory_order_release); }
    result hold(stream s) const {
        constexpr unsigned until_equal = 1;
        return api().stream_wait_value32(s, address, 1, until_equal);
    }
};

// The primary context of device 0 is current. Whatever host functions point to is made by the
// fixture and outlives them, also when a case fails half way.
class driver_test : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_EQ(api().primary_ctx_retain(&ctx_, 0), success);
        ASSERT_EQ(api().ctx_set_current(ctx_), success);
    }
    void TearDown() override;

    template <class T>
    T& keep() {
        auto made = std::make_shared<T>();
        kept_.push_back(made);
        return *made;
    }
    std::atomic<int>& make_counter() { return keep<std::atomic<int>>(); }
    blocker& make_blocker() {
        blockers_.push_back(&keep<blocker>());
        return *blockers_.back();
    }
    value_gate& make_value_gate();

    // Holds a stream: returns once the blocker's function runs.
    blocker& hold(stream s) {
        blocker& g = make_blocker();
        EXPECT_EQ(api().launch_host_func(s, blocker::run, &g), success);
        EXPECT_TRUE(g.wait_until_running());
        return g;
    }

    stream make_stream(unsigned flags = stream_non_blocking) {
        stream s = nullptr;
        EXPECT_EQ(api().stream_create(&s, flags, 0), success);
        streams_.push_back(s);
        return s;
    }
    event make_event() {
        event e = nullptr;
        EXPECT_EQ(api().event_create(&e, event_disable_timing), success);
        events_.push_back(e);
        return e;
    }
    // Another context, not current.
    context make_context(int device = 0);
    // A stream of another context.
    stream make_stream_in(context other);
    device_ptr make_memory(std::size_t bytes);
    void* make_host_memory(std::size_t bytes);

    call& elsewhere(std::function<result()> body) { return elsewhere(ctx_, std::move(body)); }
    call& elsewhere(context current, std::function<result()> body) {
        return *calls_.emplace_back(std::make_unique<call>(current, std::move(body)));
    }

    void disown(stream s) { std::erase(streams_, s); }
    void disown(event e) { std::erase(events_, e); }
    void disown(context c) { std::erase(contexts_, c); }
    void disown(device_ptr p) { std::erase(memory_, p); }
    void disown_host(void* p) { std::erase(host_memory_, p); }

    static result launch(stream s, std::atomic<int>& counter) {
        return api().launch_host_func(s, count_up, &counter);
    }
    static result launch(stream s, journal& book, int value) {
        return api().launch_host_func(s, journal::enter, book.line_of(value));
    }

    context ctx_ = nullptr;

  private:
    void end_all_work();

    std::vector<std::shared_ptr<void>> kept_;
    std::vector<blocker*> blockers_;
    std::vector<value_gate*> value_gates_;
    std::vector<std::unique_ptr<call>> calls_;
    std::vector<stream> streams_;
    std::vector<event> events_;
    std::vector<context> contexts_;
    std::vector<device_ptr> memory_;
    std::vector<void*> host_memory_;
};

}  // namespace hostlaunch::contract
