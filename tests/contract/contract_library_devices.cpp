// SPDX-License-Identifier: Apache-2.0
// The C++ library on streams of two devices at once. Skipped where there is one.
#include <array>
#include <cstring>

#include "contract/graph_scene.hpp"
#include "hostlaunch/hostlaunch.hpp"

namespace hostlaunch::contract {
namespace {

// Tells how often its copies were destroyed, and whether one was on a thread that ran it.
struct witness {
    std::atomic<int> ran{0};
    std::atomic<int> destroyed{0};
    std::atomic<int> destroyed_on_its_driver_thread{0};
};

class witnessed {
  public:
    explicit witnessed(witness& w) : w_(&w) {}
    witnessed(witnessed&& other) noexcept : w_(std::exchange(other.w_, nullptr)) {}
    witnessed& operator=(witnessed&&) = delete;
    ~witnessed() {
        if (w_ == nullptr) return;
        if (ran_on_ == std::this_thread::get_id()) ++w_->destroyed_on_its_driver_thread;
        ++w_->destroyed;
    }
    void operator()() {
        ran_on_ = std::this_thread::get_id();
        ++w_->ran;
    }

  private:
    witness* w_;
    std::thread::id ran_on_{};
};

class library_devices : public driver_test {
  protected:
    void SetUp() override {
        driver_test::SetUp();
        before_ = hostlaunch::stats();
        int devices = 0;
        ASSERT_EQ(api().device_get_count(&devices), success);
        if (devices < 2) GTEST_SKIP() << "one device";
        for (int device = 0; device < 2; ++device) {
            stream_options options;
            options.device_id = device;
            streams_.emplace_back(options);
            ASSERT_EQ(api().primary_ctx_retain(&contexts_.emplace_back(), device), success);
        }
    }
    void TearDown() override {
        for (hostlaunch::stream& s : streams_)
            s.sync();
        EXPECT_TRUE(eventually([] {
            const launch_stats s = hostlaunch::stats();
            return s.pending == 0 && s.running == 0 && s.awaiting_release == 0;
        }));
        const launch_stats s = hostlaunch::stats();
        EXPECT_EQ(s.accepted, s.ran + s.raised + s.abandoned + s.dropped + s.cancelled);
        streams_.clear();
        for (std::size_t device = 0; device < contexts_.size(); ++device)
            EXPECT_EQ(api().primary_ctx_release(static_cast<int>(device)), success);
        EXPECT_EQ(api().ctx_set_current(ctx_), success);
        driver_test::TearDown();
    }

    // Calls f with each context current in turn, none included; f must leave it so.
    template <class F>
    void in_each_context(F&& f) {
        for (const context current : {context{}, contexts_.at(0), contexts_.at(1)}) {
            EXPECT_EQ(api().ctx_set_current(current), success);
            f();
            expect_current(current);
        }
        EXPECT_EQ(api().ctx_set_current(ctx_), success);
    }
    static void expect_current(context wanted) {
        context now = nullptr;
        EXPECT_EQ(api().ctx_get_current(&now), success);
        EXPECT_EQ(now, wanted);
    }
    // As the library that began the capture would.
    static void run_thrice(abi::graph made, abi::stream on, context of) {
        context before = nullptr;
        EXPECT_EQ(api().ctx_get_current(&before), success);
        EXPECT_EQ(api().ctx_set_current(of), success);
        graph_exec exec = nullptr;
        EXPECT_EQ(api().graph_instantiate(&exec, made, 0), success);
        for (int i = 0; i < 3; ++i)
            EXPECT_EQ(api().graph_launch(exec, on), success);
        EXPECT_EQ(api().stream_synchronize(on), success);
        EXPECT_EQ(api().graph_exec_destroy(exec), success);
        EXPECT_EQ(api().ctx_set_current(before), success);
    }
    hostlaunch::stream& s(std::size_t device) { return streams_.at(device); }
    std::uint64_t more(std::uint64_t launch_stats::* counter) const {
        return hostlaunch::stats().*counter - before_.*counter;
    }

    std::vector<context> contexts_;

  private:
    launch_stats before_;
    std::vector<hostlaunch::stream> streams_;
};

// contract: O4
TEST_F(library_devices, every_kind_of_launch_works_in_any_context_and_on_a_fresh_thread) {
    std::atomic<int>& ran = make_counter();
    struct counts {
        std::atomic<int>* ran;
        void operator()() const { ++*ran; }
    };
    counts& borrowed = keep<counts>();
    borrowed.ran = &ran;
    auto launch_all = [&] {
        std::atomic<int>* const counter = &ran;
        for (const std::size_t device : {1, 0, 1}) {
            host_launch(s(device), [&ran] { ++ran; });
            host_launch(s(device).handle(), [&ran] { ++ran; });
            host_launch(s(device), &count_up, &ran);
            host_launch(
                s(device), [](void* copy) { ++**static_cast<std::atomic<int>**>(copy); },
                std::as_bytes(std::span(&counter, 1)));
            host_launch(s(device), std::ref(borrowed));
        }
    };
    in_each_context(launch_all);
    std::thread([&] {
        launch_all();
        expect_current(nullptr);
    }).join();
    s(0).sync();
    s(1).sync();
    EXPECT_EQ(ran, 4 * 3 * 5);
}

// contract: O1
TEST_F(library_devices, a_thousand_callables_on_each_keep_their_order_and_their_payloads) {
    std::array<std::vector<int>, 2>& ran = keep<std::array<std::vector<int>, 2>>();
    std::vector<int> expected;
    for (int i = 0; i < 1000; ++i) {
        expected.push_back(i);
        for (std::size_t device = 0; device < 2; ++device) {
            const int check = i * 7919 + static_cast<int>(device);
            host_launch(
                s(device),
                [&ran, device, i](std::unique_ptr<int> own) {
                    const bool whole = *own == i * 7919 + static_cast<int>(device);
                    ran[device].push_back(whole ? i : -1);
                },
                std::make_unique<int>(check));
        }
    }
    s(0).sync();
    s(1).sync();
    EXPECT_EQ(ran[0], expected);
    EXPECT_EQ(ran[1], expected);
    EXPECT_EQ(more(&launch_stats::ran), 2000u);
}

// contract: O2, C2. One callback thread for each context, both under the blocker and releasing.
TEST_F(library_devices, callables_of_both_meet_inside_and_are_destroyed_once) {
    meeting& m = keep<meeting>();
    witness& w = keep<witness>();
    std::atomic<int>& alone = make_counter();
    constexpr int rounds = 2000;
    for (int i = 0; i < rounds; ++i) {
        for (std::size_t device = 0; device < 2; ++device) {
            host_launch(s(device), [&m, &alone, last = witnessed(w)]() mutable {
                if (alone == 0 && !m.enter()) ++alone;
                last();
            });
        }
        if (i % 500 == 499) s(0).sync();
    }
    s(0).sync();
    s(1).sync();
    EXPECT_TRUE(eventually([&w] { return w.destroyed == 2 * rounds; }));
    EXPECT_EQ(alone, 0);
    EXPECT_EQ(w.ran, 2 * rounds);
    EXPECT_EQ(w.destroyed_on_its_driver_thread, 0);
}

// contract: O1
TEST_F(library_devices, a_held_device_does_not_delay_the_other) {
    blocker& held = make_blocker();
    std::atomic<int>& ran = make_counter();
    host_launch(s(0), [&held] { blocker::run(&held); });
    ASSERT_TRUE(held.wait_until_running());
    for (int i = 0; i < 1000; ++i) {
        host_launch(s(0), [&ran] { ++ran; });
        host_launch(s(1), [&ran] { ++ran; });
    }
    s(1).sync();
    EXPECT_EQ(ran, 1000);
    EXPECT_EQ(hostlaunch::stats().pending, 1000u);
    held.let_go();
    s(0).sync();
    EXPECT_EQ(ran, 2000);
}

// contract: O1, O4
TEST_F(library_devices, events_and_waits_order_them_in_any_context) {
    std::vector<int>& ran = keep<std::vector<int>>();
    int number = 0;
    in_each_context([&] {
        hostlaunch::event there = s(0).record();
        for (int i = 0; i < 100; ++i) {
            host_launch(s(0), [&ran, n = number++] { ran.push_back(n); });
            s(0).record(there);
            s(1).wait(there);
            host_launch(s(1), [&ran, n = number++] { ran.push_back(n); });
            s(0).wait(s(1));
        }
        hostlaunch::event end = s(0).record();
        end.sync();
        EXPECT_TRUE(end.is_done());
    });
    ASSERT_EQ(ran.size(), 600u);
    for (int i = 0; i < 600; ++i)
        EXPECT_EQ(ran[static_cast<std::size_t>(i)], i);
}

// contract: O1. The event wait is all that orders the function and the copy.
TEST_F(library_devices, a_copy_on_one_reads_what_a_callable_of_the_other_wrote) {
    constexpr std::size_t size = 4096;
    constexpr int rounds = 10'000;
    for (std::size_t writer = 0; writer < 2; ++writer) {
        hostlaunch::stream& writes = s(writer);
        hostlaunch::stream& reads = s(1 - writer);
        buffer source(size, buffer_kind::pinned, static_cast<int>(writer));
        buffer device(size, buffer_kind::device, static_cast<int>(1 - writer));
        buffer target(size, buffer_kind::pinned, static_cast<int>(1 - writer));
        std::atomic<int>& wrong = make_counter();
        hostlaunch::event there = writes.record();
        hostlaunch::event back = reads.record();
        for (int i = 0; i < rounds; ++i) {
            host_launch(writes,
                        [to = source.bytes(), i] { std::memset(to.data(), i % 251, to.size()); });
            writes.record(there);
            reads.wait(there);
            source.copy_to(device, reads);
            device.copy_to(target, reads);
            host_launch(reads, [from = target.bytes(), i, &wrong] {
                const auto value = static_cast<std::byte>(i % 251);
                for (const std::byte b : from)
                    if (b != value) ++wrong;
            });
            reads.record(back);
            writes.wait(back);
            if (i % 500 == 499) reads.sync();
        }
        reads.sync();
        writes.sync();
        EXPECT_EQ(wrong, 0);
    }
}

// contract: section 2, O4
TEST_F(library_devices, memory_is_copied_between_them_in_any_context) {
    buffer first(64, buffer_kind::device, 0);
    buffer second(64, buffer_kind::device, 1);
    buffer host(64, buffer_kind::pinned, 1);
    std::vector<int>& seen = keep<std::vector<int>>();
    int value = 0;
    in_each_context([&] {
        first.fill(static_cast<std::byte>(++value), s(0));
        first.copy_to(second, s(0));
        s(1).wait(s(0));
        second.copy_to(host, s(1));
        host_launch(s(1), [&seen, all = host.bytes()] {
            seen.push_back(std::to_integer<int>(all.back()));
        });
        s(0).wait(s(1));
    });
    s(1).sync();
    EXPECT_EQ(seen, (std::vector{1, 2, 3}));
}

// contract: B3, O4
TEST_F(library_devices, graphs_of_both_run_in_any_context_and_meet_inside) {
    meeting& m = keep<meeting>();
    witness& w = keep<witness>();
    std::atomic<int>& alone = make_counter();
    in_each_context([&] {
        std::vector<hostlaunch::graph> graphs;
        for (std::size_t device = 0; device < 2; ++device) {
            hostlaunch::graph_builder b(s(device));
            b.begin_building();
            host_launch(b, [&m, &alone, last = std::make_shared<witnessed>(w)] {
                if (alone == 0 && !m.enter()) ++alone;
                (*last)();
            });
            graphs.push_back(b.end_building().complete());
        }
        for (int i = 0; i < 100; ++i) {
            graphs[0].launch(s(0));
            graphs[1].launch(s(1));
        }
        s(0).sync();
        s(1).sync();
    });
    EXPECT_TRUE(eventually([&w] { return w.destroyed == 6; }));
    EXPECT_EQ(alone, 0);
    EXPECT_EQ(w.ran, 600);
    EXPECT_EQ(w.destroyed_on_its_driver_thread, 0);
}

// contract: B3. What happens is the driver's to say; it is told, and nothing is harmed.
TEST_F(library_devices, a_graph_on_the_other_ones_stream_works_or_is_refused) {
    std::atomic<int>& ran = make_counter();
    buffer device(64, buffer_kind::device, 0);
    hostlaunch::graph_builder b(s(0));
    b.begin_building();
    device.fill(std::byte{1}, s(0));
    host_launch(b, [&ran] { ++ran; });
    hostlaunch::graph g = b.end_building().complete();
    int expected = 1;
    try {
        g.launch(s(1));
    } catch (const hostlaunch::error& e) {
        expected = 0;
        observe("graph launched on the other device's stream", e.code());
    }
    s(1).sync();
    EXPECT_EQ(ran, expected);
    g.launch(s(0));
    s(0).sync();
    EXPECT_EQ(ran, expected + 1);
}

// contract: B4, O4
TEST_F(library_devices, captures_of_both_are_adopted_at_the_same_time) {
    std::array<std::atomic<int>*, 2> ran{&make_counter(), &make_counter()};
    in_each_context([&] {
        std::array<abi::stream, 2> raw{};
        std::vector<hostlaunch::graph_builder> adopted;
        for (std::size_t d = 0; d < 2; ++d) {
            raw[d] = reinterpret_cast<abi::stream>(s(d).handle());
            EXPECT_EQ(api().stream_begin_capture(raw[d], abi::capture_mode::global), success);
            adopted.push_back(hostlaunch::graph_builder::attach(s(d)));
        }
        for (std::size_t d : {0, 1, 1})
            host_launch(adopted[d], [counter = ran[d]] { ++*counter; });
        std::array<abi::graph, 2> made{};
        for (std::size_t d = 0; d < 2; ++d)
            EXPECT_EQ(api().stream_end_capture(raw[d], &made[d]), success);
        for (std::size_t d = 0; d < 2; ++d) {
            std::size_t nodes = 0;
            EXPECT_EQ(api().graph_get_nodes(made[d], nullptr, &nodes), success);
            EXPECT_EQ(nodes, d + 1);
            run_thrice(made[d], raw[d], contexts_[d]);
            EXPECT_EQ(api().graph_destroy(made[d]), success);
        }
    });
    EXPECT_EQ(*ran[0], 3 * 3);
    EXPECT_EQ(*ran[1], 3 * 2 * 3);
}

// contract: X4, O1, O4
TEST_F(library_devices, threads_on_both_keep_order_and_context) {
    constexpr int launchers = 6;
    constexpr int each = 500;
    using ledger = std::array<std::array<int, launchers>, 2>;
    ledger& next = keep<ledger>();
    next = {};
    std::atomic<int>& disorder = make_counter();
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < launchers; ++t) {
        threads.emplace_back([&, t] {
            const context mine = t % 3 == 2 ? nullptr : contexts_[t % 3];
            EXPECT_EQ(api().ctx_set_current(mine), success);
            for (int i = 0; i < each; ++i) {
                for (std::size_t device = 0; device < 2; ++device) {
                    host_launch(s(device), [&next, &disorder, device, t, i] {
                        if (next[device][t]++ != i) ++disorder;
                    });
                }
                if (i % 100 == 99) s(static_cast<std::size_t>(i / 100 % 2)).record().sync();
                expect_current(mine);
            }
        });
    }
    for (std::thread& t : threads)
        t.join();
    s(0).sync();
    s(1).sync();
    EXPECT_EQ(disorder, 0);
    for (const auto& on_device : next) {
        for (const int n : on_device)
            EXPECT_EQ(n, each);
    }
}

}  // namespace
}  // namespace hostlaunch::contract
