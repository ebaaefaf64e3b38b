// SPDX-License-Identifier: Apache-2.0
// The core on the embedded driver: a context, streams, and a check that nothing is left behind.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "core/lifecycle.hpp"
#include "core/routes/driver_thread.hpp"
#include "core/routes/native.hpp"
#include "core/routes/routes.hpp"
#include "core/task/outcomes.hpp"
#include "core/task/pool_of_records.hpp"
#include "core/task/release.hpp"
#include "driver/driver.hpp"
#include "embedded/control.hpp"
#include "embedded/entry_points.hpp"
#include "support/waiting.hpp"

namespace hostlaunch::core {

// As the languages do it, on a stream that stays open.
inline status launch_task(stream_target target, record& r) {
    return driver_thread.launch(target, r, {});
}
inline status launch_native(stream_target target, record& r, abi::host_fn fn, void* user_data) {
    return native.launch(target, r, {fn, user_data});
}

}  // namespace hostlaunch::core

namespace hostlaunch::test {

// What is alive in the driver.
struct live_objects {
    std::int64_t streams = hostlaunch_embedded_live("streams");
    std::int64_t events = hostlaunch_embedded_live("events");
    std::int64_t device_memory = hostlaunch_embedded_live("device_memory");
    std::int64_t host_memory = hostlaunch_embedded_live("host_memory");
    std::int64_t graphs = hostlaunch_embedded_live("graphs");
    std::int64_t graph_execs = hostlaunch_embedded_live("graph_execs");
    std::int64_t user_objects = hostlaunch_embedded_live("user_objects");

    bool operator==(const live_objects&) const = default;
};

inline void PrintTo(const live_objects& live, std::ostream* out) {
    *out << live.streams << " streams, " << live.events << " events, " << live.device_memory
         << " + " << live.host_memory << " allocations, " << live.graphs << " graphs, "
         << live.graph_execs << " executables, " << live.user_objects << " user objects";
}

// The primary context of device 0 is current for the test. At the end all work has run and nothing
// but the monitor's probes (an event for each context with overdue launches) is left.
class core_on_embedded : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(core::enter_driver().ok());
        ASSERT_EQ(embedded::cuDevicePrimaryCtxRetain(&context_, 0), 0);
        ASSERT_EQ(embedded::cuCtxSetCurrent(context_), 0);
        before_ = live_objects();
    }

    void TearDown() override {
        hostlaunch_embedded_reset();
        for (const abi::stream s : streams_)
            EXPECT_EQ(embedded::cuStreamDestroy_v2(s), 0);
        EXPECT_EQ(hostlaunch_embedded_wait_idle(patience_ms), 0);
        EXPECT_TRUE(eventually([] {
            core::routes::look(false);
            core::release_in_background();
            return core::outstanding() == 0 && core::read_stats().awaiting_release == 0;
        }));
        live_objects after;
        EXPECT_LE(after.events, before_.events + 4);
        after.events = before_.events;
        EXPECT_EQ(after, before_);
    }

    abi::stream make_stream() {
        abi::stream s = nullptr;
        EXPECT_EQ(embedded::cuStreamCreateWithPriority(&s, abi::stream_non_blocking, 0), 0);
        streams_.push_back(s);
        return s;
    }

    abi::context context_ = nullptr;
    live_objects before_;

  private:
    std::vector<abi::stream> streams_;
};

// A record as the surface fills it: `type` and one pointer in the payload.
inline core::record& make_record(const hostlaunch::detail::task_type& type, void* payload) {
    core::record* r = core::record_pool::instance().acquire();
    EXPECT_NE(r, nullptr);
    r->type = &type;
    ::new (r->payload) void*(payload);
    return *r;
}

// What the driver is handed for a launch of the record in its present generation.
inline core::token token_of(const core::record& r) {
    return r.token_from(core::record::make_word(r.generation(), core::state::free));
}

// Puts a record into the state that an accepted launch has, without a driver.
inline core::token make_pending(core::record& r, const core::route* taken, abi::context context) {
    r.route.store(taken);
    r.context.store(context);
    r.word.store(core::record::make_word(r.generation(), core::state::launching));
    const core::token t = token_of(r);
    EXPECT_TRUE(r.move(r.generation(), core::state::launching, core::state::pending));
    return t;
}

}  // namespace hostlaunch::test
