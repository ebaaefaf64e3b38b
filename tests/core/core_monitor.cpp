// SPDX-License-Identifier: Apache-2.0
// The background thread: what it ends without being called, and that it sleeps otherwise.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "core/driver_fixture.hpp"
#include "core/process/monitor.hpp"

namespace hostlaunch::core {
namespace {

using std::chrono::milliseconds;
using test::blocker;
using test::eventually;
using test::make_record;
using test::stays;

#ifdef __SANITIZE_THREAD__
constexpr bool under_thread_sanitizer = true;
#else
constexpr bool under_thread_sanitizer = false;
#endif

void count_destroyed(void* payload) noexcept {
    ++**static_cast<std::atomic<int>**>(payload);
}
constexpr hostlaunch::detail::task_type counted{nullptr, &count_destroyed};
void count_up(void* counter) {
    ++*static_cast<std::atomic<int>*>(counter);
}

// Entries that the monitor calls.
std::uint64_t background_calls() {
    std::uint64_t calls = 0;
    for (const char* entry : {"cuEventQuery", "cuEventDestroy", "cuEventCreate", "cuCtxGetCurrent",
                              "cuCtxSetCurrent", "cuThreadExchangeStreamCaptureMode"}) {
        calls += hostlaunch_embedded_calls(entry);
    }
    return calls;
}

// How often the other threads of the process have gone to sleep so far, from the kernel.
std::uint64_t sleeps_of_other_threads() {
    std::uint64_t sleeps = 0;
    const std::string self = std::to_string(gettid());
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        if (task.path().filename() == self) continue;
        std::ifstream status(task.path() / "status");
        for (std::string line; std::getline(status, line);) {
            if (line.starts_with("voluntary_ctxt_switches:"))
                sleeps += std::stoull(line.substr(24));
        }
    }
    return sleeps;
}

// The monitor looks every 50 ms at the latest unless it sleeps.
bool sleeps_through(milliseconds span) {
    const std::uint64_t sleeps = sleeps_of_other_threads();
    return stays([sleeps] { return sleeps_of_other_threads() == sleeps; }, span);
}
bool fell_asleep() {
    return eventually([] { return sleeps_through(milliseconds(150)); });
}

class housekeeping : public test::core_on_embedded {
  protected:
    void launch_as_is(abi::stream s, abi::host_fn fn, void* user_data) {
        ASSERT_TRUE(launch_native({s}, make_record(counted, &destroyed_), fn, user_data).ok());
    }
    bool released(int count) {
        return eventually([this, count] { return destroyed_ == count; });
    }

    std::atomic<int> ran_{0};
    std::atomic<int> destroyed_{0};
};

// contract: L1
TEST_F(housekeeping, an_as_is_launch_ends_as_ran_once_the_event_behind_it_completes) {
    const abi::stream s = make_stream();
    const launch_stats before = read_stats();
    blocker first;
    launch_as_is(s, &blocker::run, &first);
    launch_as_is(s, &count_up, &ran_);
    first.wait_until_running();
    EXPECT_TRUE(stays([this] { return destroyed_ == 0; }, milliseconds(100)));
    EXPECT_EQ(read_stats().pending - before.pending, 2u);
    first.let_go();
    EXPECT_TRUE(released(2));
    EXPECT_EQ(ran_, 1);
    EXPECT_EQ(read_stats().ran - before.ran, 2u);
    EXPECT_EQ(read_stats().abandoned, before.abandoned);
    EXPECT_EQ(outstanding(), 0u);
}

TEST_F(housekeeping, makes_no_driver_call_while_nothing_is_pending) {
    const abi::stream s = make_stream();
    launch_as_is(s, &count_up, &ran_);
    ASSERT_TRUE(released(1));
    ASSERT_TRUE(eventually([] { return outstanding() == 0 && !any_tracked(); }));
    const std::uint64_t calls = background_calls();
    EXPECT_TRUE(stays([calls] { return background_calls() == calls; }, milliseconds(300)));
}

TEST_F(housekeeping, sleeps_without_waking_while_nothing_is_outstanding) {
    if (under_thread_sanitizer) GTEST_SKIP() << "the sanitizer has a thread that wakes";
    const abi::stream s = make_stream();
    launch_as_is(s, &count_up, &ran_);
    ASSERT_TRUE(released(1));
    EXPECT_TRUE(fell_asleep());
}

TEST_F(housekeeping, a_launch_wakes_it_from_sleep) {
    const abi::stream s = make_stream();
    for (int i = 1; i <= 2; ++i) {
        launch_as_is(s, &count_up, &ran_);
        ASSERT_TRUE(released(i));
        if (!under_thread_sanitizer) {
            ASSERT_TRUE(fell_asleep());
        }
    }
    launch_as_is(s, &count_up, &ran_);
    EXPECT_TRUE(released(3));
}

// Launches that come about when it falls asleep, half a second after the last, are seen by one side
// or the other.
TEST_F(housekeeping, no_launch_is_forgotten_on_the_way_to_sleep) {
    const abi::stream s = make_stream();
    for (int i = 1; i <= 6; ++i) {
        launch_as_is(s, &count_up, &ran_);
        ASSERT_TRUE(released(i));
        std::this_thread::sleep_for(milliseconds(470 + 10 * i));
    }
}

TEST_F(housekeeping, launches_of_many_threads_all_end) {
    constexpr int threads = 4;
    constexpr int each = 100;
    std::vector<abi::stream> streams;
    for (int i = 0; i < threads; ++i)
        streams.push_back(make_stream());
    std::vector<std::thread> launchers;
    for (const abi::stream s : streams) {
        launchers.emplace_back([this, s] {
            for (int i = 0; i < each; ++i)
                launch_as_is(s, &count_up, &ran_);
        });
    }
    for (std::thread& t : launchers)
        t.join();
    EXPECT_TRUE(released(threads * each));
    EXPECT_EQ(ran_, threads * each);
}

// `poll` is what a call that waited uses, to release what has run before it returns.
TEST_F(housekeeping, a_poll_sees_what_had_run_before_it) {
    const abi::stream s = make_stream();
    launch_as_is(s, &count_up, &ran_);
    ASSERT_EQ(embedded::cuStreamSynchronize(s), 0);
    routes::look(true);
    EXPECT_EQ(outstanding(), 0u);
}

std::atomic<int> asked{0};

// contract: L5
TEST_F(housekeeping, a_release_request_that_could_not_be_delivered_is_made_again) {
    const abi::stream s = make_stream();
    asked = 0;
    set_release_hook([]() noexcept { return ++asked > 3; });
    launch_as_is(s, &count_up, &ran_);
    EXPECT_TRUE(eventually([] { return asked > 3; }));
    EXPECT_TRUE(eventually([] { return !release_retry_wanted(); }));
    EXPECT_EQ(destroyed_, 0);  // with a hook, release is the hook's business
    set_release_hook(nullptr);
    release_in_background();
    EXPECT_TRUE(released(1));
}

// The events behind as-is launches live as long as the launches.
TEST_F(housekeeping, leaves_no_events_behind) {
    const abi::stream s = make_stream();
    const std::int64_t events = hostlaunch_embedded_live("events");
    for (int i = 0; i < 50; ++i)
        launch_as_is(s, &count_up, &ran_);
    ASSERT_TRUE(released(50));
    EXPECT_LE(hostlaunch_embedded_live("events"), events + 1);  // its own probe of the context
}

// contract: G1
TEST_F(housekeeping, polls_on_threads_that_hold_up_nobody) {
    const abi::stream s = make_stream();
    ASSERT_EQ(hostlaunch_embedded_hold("cuEventQuery"), 0);
    launch_as_is(s, &count_up, &ran_);
    ASSERT_GE(hostlaunch_embedded_wait_held("cuEventQuery", 1, test::patience_ms), 1);
    launch_as_is(s, &count_up, &ran_);  // while the monitor is inside the driver
    routes::look(false);
    routes::look(true);
    EXPECT_EQ(read_stats().awaiting_release, 0u);
    hostlaunch_embedded_release("cuEventQuery");
    EXPECT_TRUE(released(2));
}

}  // namespace
}  // namespace hostlaunch::core
