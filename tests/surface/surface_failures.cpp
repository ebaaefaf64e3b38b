// SPDX-License-Identifier: Apache-2.0
// Each driver call of what the public classes do fails in turn: one clear error, nothing left, and
// the next attempt works.
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "support/driver_calls.hpp"
#include "surface/fixture.hpp"

namespace hostlaunch::test {
namespace {

std::atomic<int> as_is_ran{0};
void count_as_is(void*) {
    ++as_is_ran;
}

class surface_failures : public on_a_stream {
  protected:
    using operation = std::function<void()>;

    void SetUp() override {
        on_a_stream::SetUp();
        ASSERT_EQ(embedded::cuDevicePrimaryCtxRetain(&context_, 0), 0);
        ASSERT_EQ(embedded::cuCtxSetCurrent(context_), 0);
        as_is_ran = 0;
    }

    static std::vector<std::int64_t> all_live() {
        std::vector<std::int64_t> counts = live();
        counts.push_back(hostlaunch_embedded_live("events"));
        return counts;
    }

    void settle() {
        ASSERT_EQ(hostlaunch_embedded_wait_idle(patience_ms), 0);
        ASSERT_TRUE(eventually(nothing_outstanding));
    }

    // What an operation launches: how often it ran and, of callables, how often it was destroyed.
    struct launched {
        std::function<int()> ran = [] { return 0; };
        std::function<int()> destroyed = {};
        int per_call = 1;
    };

    // Lets every call fail in turn that the operation makes each time. `attempted` begins the
    // error's text. `tolerated`: entries whose failure the operation survives, from which call on.
    void fail_each_call(const operation& op, const std::string& attempted,
                        const calls& tolerated = restores, const launched& l = nothing()) {
        const abi::context current = current_context();
        op();
        settle();
        const calls made = driver_calls(op);
        settle();
        EXPECT_EQ(current_context(), current);
        SCOPED_TRACE(attempted);
        fail_each(made, tolerated, [&](const std::string& entry, int nth, bool survives) {
            fail_and_try_again(op, attempted, l, entry, nth, !survives);
        });
    }

    void fail_and_try_again(const operation& op, const std::string& attempted, const launched& l,
                            const std::string& entry, int nth, bool fails) {
        const abi::context current = current_context();
        const std::vector<std::int64_t> before = all_live();
        const int ran_before = l.ran();
        const int destroyed_before = l.destroyed ? l.destroyed() : 0;
        fail_one_call(op, attempted, entry, nth, fails);
        // Unless what failed is putting the context back, it is as it was.
        if (fails || entry != "cuCtxSetCurrent") {
            EXPECT_EQ(current_context(), current);
        }
        EXPECT_EQ(embedded::cuCtxSetCurrent(current), 0);
        if (fails && l.destroyed) {
            EXPECT_EQ(l.destroyed(), destroyed_before + 1);  // before the error left
        }
        settle();
        EXPECT_EQ(l.ran(), ran_before + (fails ? 0 : l.per_call));
        if (l.destroyed) {
            EXPECT_EQ(l.destroyed(), destroyed_before + 1);
        }
        EXPECT_EQ(all_live(), before);
        op();
        settle();
        EXPECT_EQ(l.ran(), ran_before + (fails ? 1 : 2) * l.per_call);
    }

    static launched nothing() {
        return {[] { return 0; }, {}, 0};
    }
    launched callables() {
        return {[this] { return fate_.ran.load(); }, [this] { return fate_.destroyed.load(); }};
    }
    static launched compiled() {
        return {[] { return as_is_ran.load(); }};
    }

    void fail_one_call(const operation& op, const std::string& attempted, const std::string& entry,
                       int nth, bool fails) {
        ASSERT_EQ(hostlaunch_embedded_fail_own_call(entry.c_str(), nth, injected), 0);
        std::optional<error> thrown;
        try {
            op();
        } catch (const error& e) {
            thrown = e;
        }
        hostlaunch_embedded_reset();
        put_capture_mode_back();
        ASSERT_EQ(thrown.has_value(), fails);
        if (fails) {
            const std::string text = thrown->what();
            EXPECT_EQ(thrown->code(), injected);
            EXPECT_EQ(thrown->name(), "CUDA_ERROR_OUT_OF_MEMORY");
            EXPECT_EQ(text.rfind(attempted + ": " + entry + " returned ", 0), 0u) << text;
        }
    }

    static abi::context current_context() {
        abi::context current = nullptr;
        EXPECT_EQ(embedded::cuCtxGetCurrent(&current), 0);
        return current;
    }

    static void put_capture_mode_back() {
        auto mode = abi::capture_mode::global;
        EXPECT_EQ(embedded::cuThreadExchangeStreamCaptureMode(&mode), 0);
    }

    stream borrowed() { return stream::from_handle(s_->handle()); }

    abi::context context_ = nullptr;
    fate fate_;
};

// contract: L3, C2
TEST_F(surface_failures, of_launching_a_callable_destroy_it_once_and_never_call_it) {
    stream b = borrowed();
    for (const stream_ref each : {stream_ref(*s_), stream_ref(b), stream_ref(b.handle())}) {
        fail_each_call([&] { host_launch(each, watched(fate_)); }, "host_launch", restores,
                       callables());
    }
}

// contract: L3
TEST_F(surface_failures, of_launching_a_borrowed_callable_never_call_it) {
    std::atomic<int> ran{0};
    auto count = [&ran] { ++ran; };
    fail_each_call([&] { host_launch(*s_, std::ref(count)); }, "host_launch", restores,
                   {[&ran] { return ran.load(); }});
}

// A launch whose event cannot be recorded stands.
// contract: L3, U5
TEST_F(surface_failures, of_launching_compiled_code_run_it_once_or_never) {
    const std::array<std::byte, 16> bytes{};
    stream b = borrowed();
    calls survived = restores;
    survived["cuEventRecord"] = 1;
    survived["cuStreamGetId"] = 1;  // then the launch is asked for by itself
    for (const stream* each : {&*s_, &b}) {
        fail_each_call([&] { host_launch(*each, &count_as_is, nullptr); }, "host_launch", restores,
                       compiled());
        fail_each_call([&] { host_launch(*each, &count_as_is, bytes); }, "host_launch", survived,
                       compiled());
    }
}

// contract: L3, O4
TEST_F(surface_failures, on_a_thread_without_a_context_leave_it_without) {
    std::thread([this] {
        const std::array<std::byte, 16> bytes{};
        calls survived = restores;
        survived["cuEventRecord"] = 1;
        survived["cuStreamGetId"] = 1;  // then the launch is asked for by itself
        survived["cuCtxSetCurrent"] = 2;
        fail_each_call([&] { host_launch(*s_, watched(fate_)); }, "host_launch", survived,
                       callables());
        fail_each_call([&] { host_launch(*s_, &count_as_is, bytes); }, "host_launch", survived,
                       compiled());
        survived.erase("cuEventRecord");
        fail_each_call([&] { (void)s_->record(); }, "stream::record", survived);
        fail_each_call([&] { stream another; }, "stream()", survived);
        fail_each_call([&] { buffer another(64); }, "buffer()", survived);
    }).join();
}

// contract: section 2
TEST_F(surface_failures, of_making_streams_and_buffers_leave_nothing) {
    fail_each_call([] { stream another; }, "stream()");
    stream_options urgent;
    urgent.device_id = 0;
    urgent.priority = 0;
    fail_each_call([&] { stream another(urgent); }, "stream()");
    for (const buffer_kind kind : {buffer_kind::device, buffer_kind::pinned})
        fail_each_call([&] { buffer another(64, kind, 0); }, "buffer()");
}

// contract: section 2
TEST_F(surface_failures, of_what_streams_and_events_do) {
    stream b = borrowed();
    stream other;
    event e = s_->record();
    calls survived = restores;
    survived["cuCtxGetCurrent"] = 1;  // asks whether this is a host function
    for (stream* each : {&*s_, &b}) {
        fail_each_call([&] { each->sync(); }, "stream::sync", survived);
        fail_each_call([&] { (void)each->record(); }, "stream::record");
        fail_each_call([&] { each->record(e); }, "stream::record");
        fail_each_call([&] { each->wait(e); }, "stream::wait");
        fail_each_call([&] { each->wait(other); }, "stream::wait");
        fail_each_call([&] { each->wait(other.handle()); }, "stream::wait");
    }
    fail_each_call([&] { (void)b.device_id(); }, "stream::device_id");
    fail_each_call([&] { e.sync(); }, "event::sync", survived);
    fail_each_call([&] { (void)e.is_done(); }, "event::is_done");
}

// contract: section 2
TEST_F(surface_failures, of_work_on_buffers) {
    stream b = borrowed();
    buffer device(64);
    buffer pinned(64, buffer_kind::pinned);
    for (const stream* each : {&*s_, &b}) {
        fail_each_call([&] { device.fill(std::byte{7}, *each); }, "buffer::fill");
        fail_each_call([&] { device.copy_to(pinned, *each); }, "buffer::copy_to");
        fail_each_call([&] { device.copy_from(pinned, *each); }, "buffer::copy_from");
    }
}

// Neither an exception nor a second try: a destructor has nobody to tell.
// contract: section 2
TEST_F(surface_failures, of_destroying_leave_the_object_closed) {
    std::map<std::string, std::uint64_t> calls_before;
    const auto refuse = [&](const char* entry, auto&& object) {
        SCOPED_TRACE(entry);
        calls_before[entry] = hostlaunch_embedded_calls(entry);
        ASSERT_EQ(hostlaunch_embedded_fail_own_call(entry, 1, injected), 0);
        object.close();
        EXPECT_TRUE(object.is_closed());
        object.close();
        hostlaunch_embedded_reset();
    };
    stream left;
    buffer device(64);
    buffer pinned(64, buffer_kind::pinned);
    event e = s_->record();
    const std::uintptr_t kept[] = {device.handle(), pinned.handle()};
    const abi::stream left_handle = raw(left);
    refuse("cuStreamDestroy", left);
    refuse("cuEventDestroy", e);
    refuse("cuMemFree", device);
    refuse("cuMemFreeHost", pinned);
    // The library's thread does what was left to it before it destroys a callable.
    host_launch(*s_, watched(fate_));
    ASSERT_TRUE(eventually([this] { return fate_.destroyed == 1; }));
    for (const auto& [entry, before] : calls_before)
        EXPECT_EQ(hostlaunch_embedded_calls(entry.c_str()), before + 1) << entry;
    EXPECT_EQ(embedded::cuStreamDestroy_v2(left_handle), 0);
    EXPECT_EQ(embedded::cuMemFree_v2(kept[0]), 0);
    EXPECT_EQ(embedded::cuMemFreeHost(reinterpret_cast<void*>(kept[1])), 0);
}

}  // namespace
}  // namespace hostlaunch::test
