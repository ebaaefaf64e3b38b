// SPDX-License-Identifier: Apache-2.0
// Lets each driver call of an operation fail in turn: one clear error, nothing left, nothing run.
//
// What an operation calls is not listed but taken from the driver's log, so a new call is tested as
// soon as it is made. The monitor is stopped first: it would take injected failures away.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "core/driver_fixture.hpp"
#include "core/process/monitor.hpp"
#include "support/driver_calls.hpp"

namespace hostlaunch::core {

using test::calls;
using test::eventually;
using test::injected;
using test::live_objects;
using test::make_record;
using test::restores;

inline void count_destroyed(void* payload) noexcept {
    ++**static_cast<std::atomic<int>**>(payload);
}

inline std::atomic<int> called{0};
inline outcome count_run(void*) {
    ++called;
    return outcome::ran;
}
inline constexpr task_type counted{&count_run, &count_destroyed};

inline void count_call(void*) {
    ++called;
}

class failing : public test::core_on_embedded {
  protected:
    static void SetUpTestSuite() {
        ASSERT_TRUE(enter_driver().ok());
        monitor::stop(std::chrono::seconds(30));
    }

    using operation = std::function<status()>;

    // Everything that was launched has ended and is released.
    void settle() {
        ASSERT_EQ(hostlaunch_embedded_wait_idle(test::patience_ms), 0);
        ASSERT_TRUE(eventually([] {
            routes::look(true);
            release_in_background();
            return outstanding() == 0 && read_stats().awaiting_release == 0;
        }));
    }

    // How often the operation calls each entry when all is well.
    calls observe(const operation& op) {
        const calls made = test::driver_calls([&] { EXPECT_TRUE(op().ok()); });
        settle();
        return made;
    }

    // Lets every call fail in turn that the operation makes each time. `tolerated`: entries whose
    // failure the operation must survive. `runs`: how many host functions a success runs.
    void fail_each_call(const operation& op, const calls& tolerated = {}, int runs = 0) {
        EXPECT_TRUE(op().ok());
        settle();
        test::fail_each(observe(op), tolerated,
                        [&](const std::string& entry, int nth, bool survives) {
                            fail_one_call(op, entry, nth, survives, runs);
                        });
    }

    void fail_one_call(const operation& op, const std::string& entry, int nth, bool survives,
                       int runs) {
        const live_objects before;
        const launch_stats counted_before = read_stats();
        abi::context current_before = nullptr;
        abi::context current_after = nullptr;
        ASSERT_EQ(embedded::cuCtxGetCurrent(&current_before), 0);
        called = 0;
        ASSERT_EQ(hostlaunch_embedded_fail_call(entry.c_str(), nth, injected), 0);
        const status s = op();
        hostlaunch_embedded_reset();
        restore_capture_mode();
        settle();
        if (survives) {
            EXPECT_TRUE(s.ok());
            EXPECT_EQ(called, runs);
        } else {
            EXPECT_EQ(s.code, injected);
            ASSERT_NE(s.call, nullptr);
            EXPECT_EQ(std::string(s.call), entry);
            EXPECT_EQ(called, 0);
            EXPECT_EQ(read_stats().accepted, counted_before.accepted);
            EXPECT_EQ(live_objects(), before);
        }
        EXPECT_EQ(embedded::cuCtxGetCurrent(&current_after), 0);
        if (survives && entry == "cuCtxSetCurrent") {  // what failed is putting it back
            EXPECT_EQ(embedded::cuCtxSetCurrent(current_before), 0);
        } else {
            EXPECT_EQ(current_after, current_before);
        }
        called = 0;
        EXPECT_TRUE(op().ok()) << "the call after the failed one";
        settle();
        EXPECT_EQ(called, runs);
    }

    // A failed exchange may have been the one that puts the mode back.
    static void restore_capture_mode() {
        auto mode = abi::capture_mode::global;
        EXPECT_EQ(embedded::cuThreadExchangeStreamCaptureMode(&mode), 0);
    }

    std::atomic<int> destroyed_{0};
};

}  // namespace hostlaunch::core
