// SPDX-License-Identifier: Apache-2.0
// The C++ library's promises, one suite for every kind of stream.
#include <cstring>

#include "contract/scene.hpp"
#include "hostlaunch/hostlaunch.hpp"

namespace hostlaunch::contract {
namespace {

// A kind of stream under test. The stream object refers to a handle unless the library made it.
struct subject {
    const char* name;
    hostlaunch::stream (*make)();
};

CUstream_st* public_handle(abi::stream s) {
    return reinterpret_cast<CUstream_st*>(s);
}

hostlaunch::stream borrow_foreign_stream() {
    abi::stream s = nullptr;
    EXPECT_EQ(api().stream_create(&s, stream_non_blocking, 0), success);
    return hostlaunch::stream::from_handle(public_handle(s));  // as another library's: never ours
}

hostlaunch::stream create_blocking_stream() {
    stream_options options;
    options.nonblocking = false;
    return hostlaunch::stream(options);
}

constexpr subject subjects[] = {
    {"created", [] { return hostlaunch::stream(); }},
    {"created_blocking", &create_blocking_stream},
    {"legacy", [] { return hostlaunch::stream::from_handle(public_handle(stream_legacy)); }},
    {"null", [] { return hostlaunch::stream::from_handle(nullptr); }},
    {"per_thread",
     [] { return hostlaunch::stream::from_handle(public_handle(stream_per_thread)); }},
    {"borrowed", &borrow_foreign_stream},
};

class library : public driver_test, public testing::WithParamInterface<subject> {
  protected:
    void SetUp() override {
        driver_test::SetUp();
        before_ = hostlaunch::stats();
        stream_.emplace(GetParam().make());
    }
    void TearDown() override {
        stream_->sync();
        expect_quiet();
        stream_.reset();
        driver_test::TearDown();
    }
    // contract: section 5. Whenever nothing moves, the counters add up.
    static void expect_quiet() {
        EXPECT_TRUE(eventually([] {
            const launch_stats s = hostlaunch::stats();
            return s.pending == 0 && s.running == 0 && s.awaiting_release == 0;
        }));
        const launch_stats s = hostlaunch::stats();
        EXPECT_EQ(s.accepted, s.ran + s.raised + s.abandoned + s.dropped + s.cancelled);
    }
    hostlaunch::stream& s() { return *stream_; }
    std::uint64_t more(std::uint64_t launch_stats::* counter) const {
        return hostlaunch::stats().*counter - before_.*counter;
    }

  private:
    launch_stats before_;
    std::optional<hostlaunch::stream> stream_;
};

// contract: O1
TEST_P(library, callables_run_once_each_in_order) {
    journal& book = keep<journal>();
    std::vector<int> expected;
    for (int i = 0; i < 500; ++i) {
        host_launch(s(), [&book, i] { journal::enter(book.line_of(i)); });
        expected.push_back(i);
    }
    s().sync();
    EXPECT_EQ(book.written(), expected);
    EXPECT_EQ(more(&launch_stats::ran), 500u);
}

// contract: O1
TEST_P(library, a_callable_runs_between_the_copies_around_it) {
    buffer device(4096);
    buffer host(4096, buffer_kind::pinned);
    std::vector<int>& seen = keep<std::vector<int>>();
    for (int i = 1; i <= 20; ++i) {
        device.fill(static_cast<std::byte>(i), s());
        device.copy_to(host, s());
        host_launch(s(), [&seen, all = host.bytes()] {
            seen.push_back(std::to_integer<int>(all.front()) == std::to_integer<int>(all.back())
                               ? std::to_integer<int>(all.front())
                               : -1);
        });
    }
    s().sync();
    for (int i = 1; i <= 20; ++i) {
        EXPECT_EQ(seen.at(static_cast<std::size_t>(i - 1)), i);
    }
}

TEST_P(library, move_only_callables_and_arguments_are_taken) {
    std::atomic<int>& sum = make_counter();
    auto number = std::make_unique<int>(40);
    host_launch(
        s(),
        [&sum, number = std::move(number)](std::unique_ptr<int> two) { sum += *number + *two; },
        std::make_unique<int>(2));
    s().sync();
    EXPECT_EQ(sum, 42);
}

// contract: section 4, the overloads that the driver gets as they are
TEST_P(library, a_plain_function_gets_its_pointer_or_an_aligned_copy) {
    std::atomic<int>& ran = make_counter();
    host_launch(s(), &count_up, &ran);

    struct message {
        std::atomic<int>* counter;
        int value;
    };
    message m{&ran, 10};
    host_launch(
        s(),
        [](void* copy) {
            const message& got = *static_cast<message*>(copy);
            const bool aligned = reinterpret_cast<std::uintptr_t>(copy) % 64 == 0;
            *got.counter += aligned ? got.value : 1000;
        },
        std::as_bytes(std::span(&m, 1)));
    m.value = 1000;  // seen by nobody
    s().sync();
    EXPECT_EQ(ran, 11);
}

TEST_P(library, a_borrowed_callable_runs_where_it_is_and_is_not_counted) {
    struct adder {
        int calls = 0;
        void operator()() { ++calls; }
    };
    adder& a = keep<adder>();
    host_launch(s(), std::ref(a));
    host_launch(s(), std::ref(a));
    s().sync();
    EXPECT_EQ(a.calls, 2);
    EXPECT_EQ(more(&launch_stats::accepted), 0u);
}

std::atomic<int> unhandled{0};

// contract: C3
TEST_P(library, an_exception_goes_to_the_handler_and_the_stream_goes_on) {
    unhandled = 0;
    const auto former =
        set_unhandled_exception_handler([](std::exception_ptr) noexcept { ++unhandled; });
    std::atomic<int>& ran = make_counter();
    host_launch(s(), [] { throw std::runtime_error("on purpose"); });
    host_launch(s(), [] { throw 42; });
    host_launch(s(), [&ran] { ++ran; });
    s().sync();
    set_unhandled_exception_handler(former);
    EXPECT_EQ(unhandled, 2);
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(more(&launch_stats::raised), 2u);
    EXPECT_EQ(more(&launch_stats::ran), 1u);
}

// Notes on which thread the callable runs, and how often and where it is destroyed.
struct diary {
    std::atomic<int> destroyed{0};
    std::atomic<std::thread::id> ran_on{};
    std::atomic<std::thread::id> destroyed_on{};
};

struct token {
    explicit token(diary& d) : kept_in(&d) {}
    token(token&& other) noexcept : kept_in(std::exchange(other.kept_in, nullptr)) {}
    token& operator=(token&&) = delete;
    ~token() {
        if (kept_in == nullptr) return;
        kept_in->destroyed_on = std::this_thread::get_id();
        ++kept_in->destroyed;
    }
    diary* kept_in;
};

// contract: C2
TEST_P(library, a_callable_is_destroyed_once_and_not_on_the_drivers_thread) {
    diary& d = keep<diary>();
    host_launch(s(), [t = token(d)] { t.kept_in->ran_on = std::this_thread::get_id(); });
    s().sync();
    EXPECT_TRUE(eventually([&d] { return d.destroyed == 1; }));
    expect_quiet();
    EXPECT_EQ(d.destroyed, 1);
    EXPECT_NE(d.ran_on.load(), std::thread::id());
    EXPECT_NE(d.ran_on.load(), std::this_thread::get_id());
    EXPECT_NE(d.destroyed_on.load(), d.ran_on.load());
}

template <class Call>
int code_of(Call&& call) {
    try {
        call();
    } catch (const hostlaunch::error& e) {
        return e.code();
    }
    return 0;
}

// contract: E3
TEST_P(library, calls_that_would_enter_cuda_are_refused_inside_a_callable) {
    std::atomic<int>& sync_code = make_counter();
    std::atomic<int>& launch_code = make_counter();
    host_launch(s(), [&] {
        sync_code = code_of([&] { s().sync(); });
        launch_code = code_of([&] { host_launch(s(), [] {}); });
    });
    s().sync();
    EXPECT_EQ(sync_code, static_cast<int>(misuse::in_host_function));
    EXPECT_EQ(launch_code, static_cast<int>(misuse::in_host_function));
}

TEST_P(library, an_event_is_done_once_the_callable_before_it_has_run) {
    std::atomic<int>& ran = make_counter();
    blocker& g = make_blocker();
    host_launch(s(), [&g] { blocker::run(&g); });
    host_launch(s(), [&ran] { ++ran; });
    hostlaunch::event e = s().record();
    EXPECT_FALSE(e.is_done());
    EXPECT_EQ(ran, 0);
    g.let_go();
    e.sync();
    EXPECT_TRUE(e.is_done());
    EXPECT_EQ(ran, 1);
}

// contract: S6
TEST_P(library, a_launch_on_a_closed_stream_is_refused_and_its_callable_destroyed) {
    diary& d = keep<diary>();
    hostlaunch::stream closed = GetParam().make();
    closed.close();
    EXPECT_EQ(code_of([&] { host_launch(closed, [t = token(d)] {}); }),
              static_cast<int>(misuse::closed));
    EXPECT_EQ(d.destroyed, 1);
    EXPECT_EQ(more(&launch_stats::accepted), 0u);
}

// contract: S5
TEST_P(library, a_launch_into_a_capture_is_refused_and_the_capture_is_as_it_was) {
    const auto handle = reinterpret_cast<abi::stream>(s().handle());
    if (handle == nullptr || handle == stream_legacy) GTEST_SKIP() << "it cannot capture";
    ASSERT_EQ(api().stream_begin_capture(handle, abi::capture_mode::global), success);
    EXPECT_EQ(code_of([&] { host_launch(s(), [] {}); }), static_cast<int>(misuse::capturing));
    EXPECT_EQ(code_of([&] { host_launch(s(), &count_up, nullptr); }),
              static_cast<int>(misuse::capturing));
    abi::capture_status status{};
    EXPECT_EQ(api().stream_is_capturing(handle, &status), success);
    EXPECT_EQ(status, abi::capture_status::active);
    abi::graph g = nullptr;
    EXPECT_EQ(api().stream_end_capture(handle, &g), success);
    EXPECT_EQ(api().graph_destroy(g), success);
    EXPECT_EQ(more(&launch_stats::accepted), 0u);
}

// contract: L5
TEST_P(library, many_launches_leave_nothing_behind) {
    constexpr int launches = 20'000;
    std::atomic<int>& ran = make_counter();
    for (int i = 1; i <= launches; ++i) {
        host_launch(s(), [&ran] { ++ran; });
        if (i % 1000 == 0) s().sync();
    }
    EXPECT_EQ(ran, launches);
    EXPECT_EQ(more(&launch_stats::ran), static_cast<std::uint64_t>(launches));
}

std::string name_of(const testing::TestParamInfo<subject>& info) {
    return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(, library, testing::ValuesIn(subjects), name_of);

}  // namespace
}  // namespace hostlaunch::contract
