// SPDX-License-Identifier: Apache-2.0
// Two devices: whatever context is current stays so, also where calls fail, and nothing gets mixed.
#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <functional>
#include <thread>

#include "surface/fixture.hpp"

namespace hostlaunch::test {
namespace {

stream_options on_device(int id) {
    stream_options options;
    options.device_id = id;
    return options;
}

abi::context current() {
    abi::context now = nullptr;
    EXPECT_EQ(embedded::cuCtxGetCurrent(&now), 0);
    return now;
}

class two_devices : public on_embedded {
  protected:
    void SetUp() override {
        on_embedded::SetUp();
        for (int id = 0; id < 2; ++id) {
            abi::context& context = contexts_[static_cast<std::size_t>(id)];
            ASSERT_EQ(embedded::cuDevicePrimaryCtxRetain(&context, id), 0);
            streams_.emplace_back(on_device(id));
        }
    }
    void TearDown() override {
        streams_.clear();
        EXPECT_EQ(embedded::cuCtxSetCurrent(nullptr), 0);
        for (int id = 0; id < 2; ++id)
            EXPECT_EQ(embedded::cuDevicePrimaryCtxRelease_v2(id), 0);
        on_embedded::TearDown();
    }
    stream& s(std::size_t device) { return streams_.at(device); }

    // Calls f with each context current in turn, none included; f must leave it so.
    template <class F>
    void in_each_context(F&& f) {
        for (const abi::context wanted : {abi::context{}, contexts_[0], contexts_[1]}) {
            ASSERT_EQ(embedded::cuCtxSetCurrent(wanted), 0);
            f();
            EXPECT_EQ(current(), wanted);
        }
    }

    std::array<abi::context, 2> contexts_{};

  private:
    std::vector<stream> streams_;
};

using names = std::vector<const char*>;
struct refusable {
    const char* name;
    std::function<void(stream& of_second, stream& of_first)> call;
    names entries;  // the driver's, which can refuse it
};

// A graph builder of the stream, ended, with one function.
graph_builder built_on(stream& s) {
    graph_builder b(s);
    b.begin_building();
    b.callback([] {});
    b.end_building();
    return b;
}

const refusable calls[] = {
    {"launch", [](stream& s, stream&) { host_launch(s, [] {}); }, {"cuLaunchHostFunc"}},
    {"launch_by_handle",
     [](stream& s, stream&) { host_launch(s.handle(), [] {}); },
     {"cuStreamIsCapturing", "cuStreamGetCtx", "cuLaunchHostFunc"}},
    {"launch_of_a_copy",
     [](stream& s, stream&) { host_launch(s, +[](void*) {}, std::array<std::byte, 8>{}); },
     {"cuStreamIsCapturing", "cuEventCreate", "cuLaunchHostFunc"}},
    {"record", [](stream& s, stream&) { s.record(); }, {"cuEventCreate", "cuEventRecord"}},
    {"wait",
     [](stream& s, stream& other) { s.wait(other); },
     {"cuEventCreate", "cuEventRecord", "cuStreamWaitEvent"}},
    {"wait_of_the_other",
     [](stream& s, stream& other) { other.wait(s); },
     {"cuEventCreate", "cuEventRecord", "cuStreamWaitEvent"}},
    {"sync", [](stream& s, stream&) { s.sync(); }, {"cuStreamSynchronize"}},
    {"new_stream",
     [](stream&, stream&) { stream made(on_device(1)); },
     {"cuStreamCreateWithPriority", "cuCtxGetDevice"}},
    {"new_device_memory",
     [](stream&, stream&) { buffer made(64, buffer_kind::device, 1); },
     {"cuMemAlloc"}},
    {"new_pinned_memory",
     [](stream&, stream&) { buffer made(64, buffer_kind::pinned, 1); },
     {"cuMemHostAlloc"}},
    {"graph",
     [](stream& s, stream&) {
         graph g = built_on(s).complete();
         g.upload(s);
         g.launch(s);
         s.sync();
     },
     {"cuStreamBeginCapture", "cuUserObjectCreate", "cuGraphRetainUserObject", "cuLaunchHostFunc",
      "cuGraphInstantiateWithFlags", "cuGraphUpload", "cuGraphLaunch"}},
};

// contract: O4
TEST_F(two_devices, every_call_leaves_the_current_context_as_it_was) {
    for (const refusable& each : calls) {
        SCOPED_TRACE(each.name);
        in_each_context([&] { each.call(s(1), s(0)); });
        in_each_context([&] { each.call(s(0), s(1)); });
    }
}

// contract: O4 (also on errors)
TEST_F(two_devices, refused_calls_do_so_too) {
    for (const refusable& each : calls) {
        for (const char* entry : each.entries) {
            SCOPED_TRACE(std::string(each.name) + " without " + entry);
            in_each_context([&] {
                ASSERT_EQ(hostlaunch_embedded_fail_call(entry, 1, abi::error_out_of_memory), 0);
                EXPECT_EQ(code_thrown_by([&] { each.call(s(1), s(0)); }), abi::error_out_of_memory);
                hostlaunch_embedded_reset();
            });
        }
    }
}

// contract: O4. A thread that never used the driver.
TEST_F(two_devices, a_fresh_thread_uses_both_and_has_no_context_afterwards) {
    std::atomic<int> ran_here{0};
    std::thread([&] {
        for (int i = 0; i < 100; ++i) {
            for (const std::size_t device : {1, 0})
                host_launch(s(device), [&ran_here] { ++ran_here; });
        }
        event e = s(1).record();
        s(0).wait(e);
        s(0).sync();
        EXPECT_EQ(current(), nullptr);
    }).join();
    EXPECT_EQ(ran_here, 200);
}

class threads_on_two_devices : public two_devices, public testing::WithParamInterface<int> {};

// contract: X4, O1, C2. Both callback threads are in the gate and on the release list at once.
TEST_P(threads_on_two_devices, keep_order_payload_and_context) {
    constexpr std::size_t launchers = 4;
    constexpr int each = 500;
    hostlaunch_embedded_set_threads(GetParam());
    fate whole;
    std::array<std::array<int, launchers>, 2> next{};
    std::atomic<int> wrong{0};
    std::barrier start(static_cast<std::ptrdiff_t>(launchers));
    std::vector<std::thread> workers;
    for (std::size_t t = 0; t < launchers; ++t) {
        workers.emplace_back([&, t] {
            const abi::context mine = t == 3 ? nullptr : contexts_[t % 2];
            EXPECT_EQ(embedded::cuCtxSetCurrent(mine), 0);
            start.arrive_and_wait();
            for (int n = 0; n < each; ++n) {
                for (std::size_t d = 0; d < 2; ++d) {
                    const std::size_t check = d * 7919 + t * 101 + static_cast<std::size_t>(n);
                    host_launch(s(d), [&, d, t, n, check, w = watched(whole)] {
                        const bool mixed =
                            check != d * 7919 + t * 101 + static_cast<std::size_t>(n);
                        if (mixed || next[d][t]++ != n) ++wrong;
                        w();
                    });
                }
            }
            EXPECT_EQ(current(), mine);
        });
    }
    for (std::thread& w : workers)
        w.join();
    s(0).sync();
    s(1).sync();
    constexpr int all = 2 * static_cast<int>(launchers) * each;
    EXPECT_TRUE(eventually([&] { return whole.destroyed == all; }));
    EXPECT_EQ(whole.ran, all);
    EXPECT_EQ(wrong, 0);
}
INSTANTIATE_TEST_SUITE_P(callback_thread, threads_on_two_devices, testing::Range(0, 3));

// contract: O1, O2
TEST_F(two_devices, run_their_functions_at_the_same_time) {
    blocker first;
    blocker second;
    host_launch(s(0), [&first] { first(); });
    host_launch(s(1), [&second] { second(); });
    first.wait_until_running();
    second.wait_until_running();
    EXPECT_EQ(stats().running, 2u);
    second.let_go();
    s(1).sync();
    EXPECT_EQ(stats().running, 1u);
    first.let_go();
    s(0).sync();
}

// contract: section 2. The refusal harms neither.
TEST_F(two_devices, an_event_is_recorded_again_on_its_own_device_only) {
    event e = s(0).record();
    in_each_context([&] {
        EXPECT_EQ(code_thrown_by([&] { s(1).record(e); }), abi::error_invalid_handle);
        s(0).record(e);
        s(1).wait(e);
        s(1).sync();
    });
}

// contract: B3, B6. The embedded driver runs a graph on any stream.
TEST_F(two_devices, a_graph_runs_on_the_streams_of_both_and_never_overlaps_itself) {
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
    std::atomic<int> ran_here{0};
    graph_builder b(s(0));
    b.begin_building();
    b.callback([&] {
        const int now = ++inside;
        if (now > most) most = now;
        ++ran_here;
        --inside;
    });
    graph g = b.end_building().complete();
    in_each_context([&] {
        for (int i = 0; i < 100; ++i)
            g.launch(s(static_cast<std::size_t>(i % 2)));
        s(0).sync();
        s(1).sync();
    });
    EXPECT_EQ(ran_here, 300);
    EXPECT_EQ(most, 1);
}

}  // namespace
}  // namespace hostlaunch::test
