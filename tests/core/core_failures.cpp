// SPDX-License-Identifier: Apache-2.0
// Each driver call of launches and of what streams, events and buffers do fails in turn.
#include <memory>
#include <thread>

#include "core/failing.hpp"
#include "core/objects/buffer.hpp"
#include "core/objects/event.hpp"
#include "core/objects/stream.hpp"

namespace hostlaunch::core {
namespace {

class failures : public failing {
  protected:
    status gated(stream_target target) {
        record& r = make_record(counted, &destroyed_);
        const status s = launch_task(target, r);
        if (!s.ok()) record_pool::instance().recycle(r);
        return s;
    }
    status as_is(stream_target target) {
        record& r = make_record(counted, &destroyed_);
        const status s = launch_native(target, r, &count_call, nullptr);
        if (!s.ok()) record_pool::instance().recycle(r);
        return s;
    }
    stream_target own() { return {make_stream(), context_, -1}; }
    stream_target foreign() { return {make_stream(), nullptr, -1}; }
};

// contract: L3
TEST_F(failures, of_a_gated_launch) {
    const stream_target target = own();
    fail_each_call([&] { return gated(target); }, {}, 1);
}

// contract: L3
TEST_F(failures, of_a_gated_launch_on_a_borrowed_stream) {
    const stream_target target = foreign();
    fail_each_call([&] { return gated(target); }, {}, 1);
}

// contract: L3, O4
TEST_F(failures, of_a_gated_launch_on_the_default_stream_of_a_named_device) {
    const stream_target target{abi::stream_legacy, nullptr, 0};
    ASSERT_TRUE(gated(target).ok());  // keeps the primary context
    calls survived = restores;
    survived["cuCtxSetCurrent"] = 2;
    std::thread([&] { fail_each_call([&] { return gated(target); }, survived, 1); }).join();
}

// A launch whose event cannot be recorded stands, and is kept.
// contract: L3, U5
TEST_F(failures, of_an_as_is_launch) {
    const stream_target target = foreign();
    calls survived = restores;
    survived["cuEventRecord"] = 1;
    survived["cuStreamGetId"] = 1;  // then the launch is asked for by itself
    fail_each_call([&] { return as_is(target); }, survived, 1);
}

// What a first launch in a context does besides is not the launch's business.
// contract: L3
TEST_F(failures, of_keeping_a_context_do_not_fail_its_first_as_is_launch) {
    for (const char* entry : {"cuCtxGetDevice", "cuDeviceGet", "cuDevicePrimaryCtxRetain"}) {
        abi::context fresh = nullptr;
        ASSERT_EQ(embedded::cuCtxCreate_v2(&fresh, 0, 0), 0);
        called = 0;
        ASSERT_EQ(hostlaunch_embedded_fail_call(entry, 1, injected), 0);
        EXPECT_TRUE(as_is({abi::stream_legacy, nullptr, -1}).ok()) << entry;
        hostlaunch_embedded_reset();
        settle();
        EXPECT_EQ(called, 1);
        EXPECT_EQ(embedded::cuCtxDestroy_v2(fresh), 0);
        EXPECT_EQ(embedded::cuCtxSetCurrent(context_), 0);
    }
}

// contract: U5
TEST_F(failures, of_the_tracking_leave_the_launch_and_keep_the_payload) {
    const stream_target target = own();
    const launch_stats before = read_stats();
    const live_objects live;
    called = 0;
    ASSERT_EQ(hostlaunch_embedded_fail_call("cuEventRecord", 1, injected), 0);
    EXPECT_TRUE(as_is(target).ok());
    settle();
    EXPECT_EQ(called, 1);
    EXPECT_EQ(destroyed_, 0);
    EXPECT_EQ(read_stats().abandoned - before.abandoned, 1u);
    EXPECT_EQ(live_objects(), live);
}

// contract: L3
TEST_F(failures, of_an_untracked_launch) {
    const stream_target target = foreign();
    fail_each_call([&] { return launch_untracked(target, {&count_call, nullptr}); }, {}, 1);
}

TEST_F(failures, of_making_a_stream) {
    std::unique_ptr<stream> made;
    const auto create = [&] {
        made.reset();
        const status s = stream::create({-1, true, 0}, made);
        made.reset();
        return s;
    };
    fail_each_call(create, restores);
}

TEST_F(failures, of_making_a_stream_without_a_current_context) {
    std::unique_ptr<stream> made;
    ASSERT_TRUE(stream::create({0, true, {}}, made).ok());
    std::thread([&] {
        const auto create = [&] {
            std::unique_ptr<stream> another;
            return stream::create({-1, true, {}}, another);
        };
        calls survived = restores;
        survived["cuCtxSetCurrent"] = 2;
        fail_each_call(create, survived);
    }).join();
}

TEST_F(failures, of_the_first_use_of_a_device_are_not_remembered) {
    setenv("HOSTLAUNCH_EMBEDDED_DEVICES", "1", 1);
    for (const char* entry : {"cuDeviceGet", "cuDevicePrimaryCtxRetain"}) {
        abi::context found = nullptr;
        ASSERT_EQ(hostlaunch_embedded_fail_call(entry, 1, injected), 0);
        const status s = primary_context(0, &found);
        hostlaunch_embedded_reset();
        if (s.ok()) continue;  // an earlier test of the process has kept the context
        EXPECT_EQ(s.code, injected);
        EXPECT_EQ(std::string(s.call), entry);
    }
    abi::context found = nullptr;
    EXPECT_TRUE(primary_context(0, &found).ok());
    EXPECT_EQ(found, context_);
}

TEST_F(failures, of_making_and_recording_an_event) {
    stream_target target = foreign();
    const auto record_one = [&]() -> status {
        std::unique_ptr<event> made;
        stream_target where = target;
        if (const status s = find_context(where); !s.ok()) return s;
        if (const status s = event::create(where, made); !s.ok()) return s;
        return record_event(where, *made);
    };
    fail_each_call(record_one, restores);
}

TEST_F(failures, of_waiting_for_an_event) {
    stream_target target = own();
    std::unique_ptr<event> e;
    ASSERT_TRUE(event::create(target, e).ok());
    bool done = false;
    fail_each_call([&] { return record_event(target, *e); });
    fail_each_call([&] { return wait_event(target, *e); });
    calls survived = restores;
    fail_each_call([&] { return e->query(&done); }, survived);
    survived["cuCtxGetCurrent"] = 1;  // asks whether this is a host function
    fail_each_call([&] { return e->sync(); }, survived);
}

TEST_F(failures, of_waiting_for_a_stream) {
    const stream_target target = own();
    const stream_target other = foreign();
    fail_each_call([&] { return wait_stream(target, other); }, restores);
    calls survived = restores;
    survived["cuCtxGetCurrent"] = 1;  // asks whether this is a host function
    fail_each_call([&] { return sync_stream(other); }, survived);
}

TEST_F(failures, of_buffers) {
    const stream_target target = own();
    for (const auto kind : {buffer::kind::device, buffer::kind::pinned}) {
        const auto create = [&] {
            std::unique_ptr<buffer> made;
            return buffer::create(64, kind, -1, made);
        };
        fail_each_call(create, restores);
    }
    std::unique_ptr<buffer> a;
    std::unique_ptr<buffer> b;
    ASSERT_TRUE(buffer::create(64, buffer::kind::device, -1, a).ok());
    ASSERT_TRUE(buffer::create(64, buffer::kind::pinned, -1, b).ok());
    fail_each_call([&] { return copy(target, *b, *a); });
    fail_each_call([&] { return fill(target, *a, 7); });
}

// The thread's capture mode is the caller's: a failure leaves it alone too.
// contract: G4
TEST_F(failures, of_the_capture_mode_leave_the_threads_mode_as_it_was) {
    for (int nth = 1; nth <= 2; ++nth) {
        ASSERT_EQ(hostlaunch_embedded_fail_call("cuThreadExchangeStreamCaptureMode", nth, injected),
                  0);
        {
            const relaxed_capture scope;
        }
        hostlaunch_embedded_reset();
        auto mode = abi::capture_mode::global;
        ASSERT_EQ(embedded::cuThreadExchangeStreamCaptureMode(&mode), 0);
        if (nth == 1) {  // the second is the one that puts it back
            EXPECT_EQ(mode, abi::capture_mode::global);
        }
    }
}

}  // namespace
}  // namespace hostlaunch::core
