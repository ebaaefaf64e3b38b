// SPDX-License-Identifier: Apache-2.0
// The launch path on the embedded driver: what the driver gets, and what is refused before it.
#include <gtest/gtest.h>

#include <thread>

#include "core/driver_fixture.hpp"
#include "core/objects/stream.hpp"
#include "core/process/gate.hpp"
#include "core/process/monitor.hpp"
#include "core/routes/driver_thread.hpp"

namespace hostlaunch::core {
namespace {

using test::blocker;
using test::eventually;
using test::make_record;
using test::patience;

void count_destroyed(void* payload) noexcept {
    ++**static_cast<std::atomic<int>**>(payload);
}

std::atomic<int> called{0};
outcome count_run(void*) {
    ++called;
    return outcome::ran;
}
constexpr task_type counted{&count_run, &count_destroyed};

void count_up(void* counter) {
    ++*static_cast<std::atomic<int>*>(counter);
}

class launch_path : public test::core_on_embedded {
  protected:
    void SetUp() override {
        core_on_embedded::SetUp();
        called = 0;
    }
    void refuse_and_recycle(status got, int code, record& r) {
        EXPECT_EQ(got.code, code);
        EXPECT_EQ(record::state_of(r.word.load()), state::free);
        record_pool::instance().recycle(r);
    }

    std::atomic<int> destroyed_{0};
};

// contract: O1
TEST_F(launch_path, a_gated_launch_runs_once_and_is_released_once) {
    const abi::stream s = make_stream();
    ASSERT_TRUE(launch_task({s}, make_record(counted, &destroyed_)).ok());
    EXPECT_EQ(embedded::cuStreamSynchronize(s), 0);
    EXPECT_EQ(called, 1);
    EXPECT_TRUE(eventually([this] { return destroyed_ == 1; }));
    EXPECT_EQ(outstanding(), 0u);
}

// contract: O1
TEST_F(launch_path, a_function_that_ends_before_the_launch_returns_runs_once) {
    const abi::stream s = make_stream();
    hostlaunch_embedded_set_launch(hostlaunch_embedded_launch_waits_done, 0);
    for (int i = 1; i <= 100; ++i) {
        ASSERT_TRUE(launch_task({s}, make_record(counted, &destroyed_)).ok());
        EXPECT_EQ(called, i);
    }
    EXPECT_TRUE(eventually([this] { return destroyed_ == 100; }));
}

// contract: F2
TEST_F(launch_path, an_as_is_launch_gives_the_driver_function_and_pointer_unchanged) {
    const abi::stream s = make_stream();
    std::atomic<int> ran{0};
    hostlaunch_embedded_set_log(1);
    ASSERT_TRUE(launch_native({s}, make_record(counted, &destroyed_), &count_up, &ran).ok());
    bool found = false;
    hostlaunch_embedded_call call{};
    for (int i = 0; hostlaunch_embedded_log_get(i, &call) == 0; ++i) {
        if (std::string(call.entry) != "cuLaunchHostFunc") continue;
        found = true;
        EXPECT_EQ(call.args[0], reinterpret_cast<std::uint64_t>(s));
        EXPECT_EQ(call.args[1], reinterpret_cast<std::uint64_t>(&count_up));
        EXPECT_EQ(call.args[2], reinterpret_cast<std::uint64_t>(&ran));
    }
    EXPECT_TRUE(found);
    EXPECT_TRUE(eventually([this] { return destroyed_ == 1; }));
    EXPECT_EQ(ran, 1);
}

// contract: S5
TEST_F(launch_path, a_capturing_stream_is_refused_and_its_capture_stays) {
    const abi::stream s = make_stream();
    std::atomic<int> ran{0};
    ASSERT_EQ(embedded::cuStreamBeginCapture_v2(s, abi::capture_mode::global), 0);
    const int capturing = static_cast<int>(misuse::capturing);
    record& gated = make_record(counted, &destroyed_);
    refuse_and_recycle(launch_task({s}, gated), capturing, gated);
    record& as_is = make_record(counted, &destroyed_);
    refuse_and_recycle(launch_native({s}, as_is, &count_up, &ran), capturing, as_is);
    EXPECT_EQ(launch_untracked({s}, {&count_up, &ran}).code, capturing);
    abi::graph graph = nullptr;
    std::size_t nodes = 7;
    ASSERT_EQ(embedded::cuStreamEndCapture(s, &graph), 0);
    EXPECT_EQ(embedded::cuGraphGetNodes(graph, nullptr, &nodes), 0);
    EXPECT_EQ(nodes, 0u);
    EXPECT_EQ(embedded::cuGraphDestroy(graph), 0);
    EXPECT_EQ(ran + called, 0);
}

// contract: O4
TEST_F(launch_path, a_created_stream_needs_no_context_and_leaves_none_behind) {
    const abi::stream s = make_stream();
    std::atomic<int> ran{0};
    std::thread([&] {
        abi::context now = context_;
        EXPECT_TRUE(launch_task({s}, make_record(counted, &destroyed_)).ok());
        EXPECT_TRUE(launch_native({s}, make_record(counted, &destroyed_), &count_up, &ran).ok());
        EXPECT_TRUE(launch_untracked({s}, {&count_up, &ran}).ok());
        EXPECT_EQ(embedded::cuCtxGetCurrent(&now), 0);
        EXPECT_EQ(now, nullptr);
    }).join();
    EXPECT_TRUE(eventually([&] { return called == 1 && ran == 2 && destroyed_ == 2; }));
}

// contract: O4
TEST_F(launch_path, a_default_stream_means_the_current_context_or_the_device_of_its_carrier) {
    std::thread([&] {
        for (abi::stream token :
             {abi::stream{nullptr}, abi::stream_legacy, abi::stream_per_thread}) {
            record& r = make_record(counted, &destroyed_);
            refuse_and_recycle(launch_task({token}, r), static_cast<int>(misuse::no_context), r);
            const stream_target named{token, nullptr, 0};
            EXPECT_TRUE(launch_task(named, make_record(counted, &destroyed_)).ok());
            abi::context now = context_;
            EXPECT_EQ(embedded::cuCtxGetCurrent(&now), 0);
            EXPECT_EQ(now, nullptr);
        }
    }).join();
    EXPECT_TRUE(eventually([this] { return destroyed_ == 3; }));
    EXPECT_EQ(called, 3);
}

// contract: D3
TEST_F(launch_path, an_unknown_handle_is_an_error) {
    record& r = make_record(counted, &destroyed_);
    const auto unknown = reinterpret_cast<abi::stream>(std::uintptr_t{0x123450});
    refuse_and_recycle(launch_task({unknown}, r), abi::error_invalid_handle, r);
}

// Two contexts share the tokens of the default streams; each has its own streams behind them.
// contract: L1
TEST_F(launch_path, a_blocked_default_stream_delays_no_release_of_another_context) {
    abi::context other = nullptr;
    ASSERT_EQ(embedded::cuCtxCreate_v2(&other, 0, 0), 0);
    std::atomic<int> ran{0};
    std::atomic<int> blocked_destroyed{0};
    blocker first;
    ASSERT_EQ(embedded::cuCtxSetCurrent(context_), 0);
    ASSERT_TRUE(launch_native({abi::stream_legacy}, make_record(counted, &blocked_destroyed),
                              &blocker::run, &first)
                    .ok());
    first.wait_until_running();
    ASSERT_EQ(embedded::cuCtxSetCurrent(other), 0);
    ASSERT_TRUE(
        launch_native({abi::stream_legacy}, make_record(counted, &destroyed_), &count_up, &ran)
            .ok());
    EXPECT_TRUE(eventually([&] { return ran == 1; }));
    EXPECT_TRUE(eventually([this] { return destroyed_ == 1; }, std::chrono::seconds(5)));
    first.let_go();
    EXPECT_TRUE(eventually([&] { return destroyed_ + blocked_destroyed == 2; }));
    EXPECT_EQ(embedded::cuCtxDestroy_v2(other), 0);
    EXPECT_EQ(embedded::cuCtxSetCurrent(context_), 0);
}

// contract: L1
TEST_F(launch_path, a_blocked_per_thread_stream_delays_no_release_of_another_thread) {
    std::atomic<int> ran{0};
    std::atomic<int> blocked_destroyed{0};
    blocker first;
    hostlaunch_embedded_set_threads(hostlaunch_embedded_threads_per_stream);
    ASSERT_TRUE(launch_native({abi::stream_per_thread}, make_record(counted, &blocked_destroyed),
                              &blocker::run, &first)
                    .ok());
    first.wait_until_running();
    std::thread([&] {
        ASSERT_EQ(embedded::cuCtxSetCurrent(context_), 0);
        ASSERT_TRUE(launch_native({abi::stream_per_thread}, make_record(counted, &destroyed_),
                                  &count_up, &ran)
                        .ok());
        EXPECT_TRUE(eventually([&] { return ran == 1; }));
        EXPECT_TRUE(eventually([this] { return destroyed_ == 1; }, std::chrono::seconds(5)));
        first.let_go();
    }).join();
    EXPECT_TRUE(eventually([&] { return destroyed_ + blocked_destroyed == 2; }));
}

}  // namespace
}  // namespace hostlaunch::core
