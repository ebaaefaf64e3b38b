// SPDX-License-Identifier: Apache-2.0
// A sticky error: by a kernel that writes to an illegal address, or by the embedded driver's knob.
#include <cstdlib>

#include "contract/graph_scene.hpp"
#include "contract/scenario.hpp"

namespace hostlaunch::contract {
namespace {

constexpr result fault = error_illegal_address;

constexpr const char* faulty_kernels[] = {
#define HOSTLAUNCH_FAULTY_KERNEL(target)             \
    ".version 7.0\n.target " target                  \
    "\n.address_size 64\n"                           \
    ".visible .entry write_where_nothing_is() {\n"   \
    "    .reg .u64 %at;\n    .reg .u32 %value;\n"    \
    "    mov.u64 %at, 16;\n    mov.u32 %value, 1;\n" \
    "    st.global.u32 [%at], %value;\n    ret;\n}\n"
    HOSTLAUNCH_FAULTY_KERNEL("sm_70"), HOSTLAUNCH_FAULTY_KERNEL("sm_80")
#undef HOSTLAUNCH_FAULTY_KERNEL
};

// Enqueued like any work, it breaks the process once it runs.
class breaker {
  public:
    breaker() {
        if (on_embedded()) return;
        for (const char* text : faulty_kernels) {
            if (api().module_load_data(&module_, text) == success) break;
        }
        EXPECT_EQ(api().module_get_function(&kernel_, module_, "write_where_nothing_is"), success);
    }
    void enqueue(stream s) const {
        if (on_embedded()) return;
        EXPECT_EQ(api().launch_kernel(kernel_, 1, 1, 1, 1, 1, 1, 0, s, nullptr, nullptr), success);
    }
    // Call it where the enqueued fault is about to become due.
    static void strike() {
        if (!on_embedded()) return;
        void* knob = embedded_knob("hostlaunch_embedded_sticky_error");
        reinterpret_cast<void (*)(int)>(knob)(fault);
    }

  private:
    void* module_ = nullptr;
    void* kernel_ = nullptr;
};

// One stream with a fault behind a held function, and a hundred functions behind the fault.
struct broken_stream {
    context ctx = nullptr;
    stream s = nullptr;
    event never_recorded = nullptr;
    event behind = nullptr;
    blocker held;
    std::atomic<int> ran{0};

    broken_stream() {
        setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // a lazy load would wait for the held function
        ctx = use_primary_context();
        s = create_stream();
        EXPECT_EQ(api().event_create(&never_recorded, event_disable_timing), success);
        EXPECT_EQ(api().event_create(&behind, event_disable_timing), success);
        const breaker b;
        EXPECT_EQ(api().launch_host_func(s, blocker::run, &held), success);
        EXPECT_TRUE(held.wait_until_running());
        b.enqueue(s);
        for (int i = 0; i < 100; ++i) {
            EXPECT_EQ(api().launch_host_func(s, count_up, &ran), success);
        }
        EXPECT_EQ(api().event_record(behind, s), success);
    }
    void strike() {
        breaker::strike();
        held.let_go();
    }
    bool is_noticed() const {
        return eventually([this] { return api().event_query(never_recorded) == fault; }, promptly);
    }
    void expect_none_ran() {
        EXPECT_FALSE(eventually([this] { return ran != 0; }, a_while));
        EXPECT_TRUE(held.has_ended());
    }
};

// Its functions may hold pointers for as long as the process lives.
broken_stream& make_broken_stream() {
    return *new broken_stream;
}

HOSTLAUNCH_SCENARIO(sticky_error_is_told_by_sync) {
    broken_stream& b = make_broken_stream();
    b.strike();
    EXPECT_EQ(api().stream_synchronize(b.s), fault);
    b.expect_none_ran();
    EXPECT_EQ(api().launch_host_func(b.s, count_up, &b.ran), fault);
    EXPECT_EQ(api().event_query(b.never_recorded), fault);
    EXPECT_EQ(api().event_query(b.behind), fault);
    EXPECT_EQ(api().stream_query(b.s), fault);
    EXPECT_EQ(api().ctx_synchronize(), fault);
    stream more = nullptr;
    event e = nullptr;
    EXPECT_EQ(api().stream_create(&more, stream_non_blocking, 0), fault);
    EXPECT_EQ(api().event_create(&e, event_disable_timing), fault);
    const char* name = nullptr;
    EXPECT_EQ(api().get_error_name(fault, &name), success);
    EXPECT_STREQ(name, "CUDA_ERROR_ILLEGAL_ADDRESS");
    b.expect_none_ran();
    return verdict();
}

HOSTLAUNCH_SCENARIO(sticky_error_without_a_sync) {
    broken_stream& b = make_broken_stream();
    EXPECT_EQ(api().event_query(b.never_recorded), success);
    b.strike();
    EXPECT_TRUE(b.is_noticed());
    EXPECT_EQ(api().event_query(b.behind), fault);
    b.expect_none_ran();
    return verdict();
}

HOSTLAUNCH_SCENARIO(sticky_error_everywhere) {
    int devices = 0;
    EXPECT_EQ(api().device_get_count(&devices), success);
    const context here = use_primary_context();
    std::vector<std::pair<context, stream>> others;
    for (int device = 0; device < std::min(devices, 2); ++device) {
        context other = nullptr;
        EXPECT_EQ(api().ctx_create(&other, 0, device), success);
        others.emplace_back(other, create_stream());
    }
    EXPECT_EQ(api().ctx_set_current(here), success);
    broken_stream& b = make_broken_stream();
    b.strike();
    EXPECT_TRUE(b.is_noticed());
    for (const auto& [other, s] : others) {
        event e = nullptr;
        EXPECT_EQ(api().ctx_set_current(other), success);
        EXPECT_EQ(api().launch_host_func(s, count_up, &b.ran), fault);
        EXPECT_EQ(api().stream_synchronize(s), fault);
        EXPECT_EQ(api().event_create(&e, event_disable_timing), fault);
    }
    b.expect_none_ran();
    return verdict();
}

HOSTLAUNCH_SCENARIO(sticky_error_and_a_reset) {
    broken_stream& b = make_broken_stream();
    b.strike();
    EXPECT_TRUE(b.is_noticed());
    api().primary_ctx_reset(0);
    EXPECT_EQ(api().event_query(b.never_recorded), error_context_is_destroyed);
    b.expect_none_ran();
    return verdict();
}

HOSTLAUNCH_SCENARIO(sticky_error_and_exit) {
    broken_stream& b = make_broken_stream();
    b.strike();
    EXPECT_TRUE(b.is_noticed());
    std::exit(verdict(7));
}

// A graph of one function, and an executable of it, which keep an object.
struct kept_object {
    ending_mark& mark = make_mark();
    std::atomic<int>& ran = *new std::atomic<int>{0};
    graph g = nullptr;
    graph_exec exec = nullptr;

    explicit kept_object(stream s) {
        EXPECT_EQ(api().stream_begin_capture(s, capture_mode::relaxed), success);
        EXPECT_EQ(api().launch_host_func(s, count_up, &ran), success);
        EXPECT_EQ(api().stream_end_capture(s, &g), success);
        EXPECT_EQ(api().graph_retain_user_object(g, make_object(mark), 1, graph_user_object_move),
                  success);
        EXPECT_EQ(api().graph_instantiate(&exec, g, 0), success);
    }
    void tell(const char* when) {
        std::printf("observed: sticky error, %s: ran %d, the object ended %d\n", when, ran.load(),
                    !mark.stays_away());
    }
};

HOSTLAUNCH_SCENARIO(sticky_error_before_a_graph) {
    broken_stream& b = make_broken_stream();
    const stream other = create_stream();
    kept_object launched(other);
    kept_object destroyed(other);
    ending_mark& alone = make_mark();
    const user_object object = make_object(alone);
    EXPECT_EQ(api().graph_launch(launched.exec, b.s), success);
    EXPECT_EQ(api().graph_launch(destroyed.exec, b.s), success);
    EXPECT_EQ(api().graph_destroy(destroyed.g), success);
    EXPECT_EQ(api().graph_exec_destroy(destroyed.exec), success);
    EXPECT_EQ(destroyed.mark.ended, 0);
    b.strike();
    EXPECT_TRUE(b.is_noticed());
    b.expect_none_ran();
    launched.tell("graph and executable alive");
    destroyed.tell("graph and executable destroyed before it");
    EXPECT_EQ(api().graph_launch(launched.exec, b.s), fault);
    EXPECT_EQ(api().graph_exec_destroy(launched.exec), success);
    EXPECT_EQ(api().graph_destroy(launched.g), success);
    launched.tell("graph and executable destroyed after it");
    EXPECT_EQ(api().user_object_release(object, 1), success);
    alone.expect_ended_here();
    user_object more = nullptr;
    ending_mark& late = make_mark();
    EXPECT_EQ(api().user_object_create(&more, &late, ending_mark::set, 1, 1), success);
    EXPECT_EQ(api().user_object_release(more, 1), success);
    late.expect_ended_here();
    EXPECT_EQ(launched.ran + destroyed.ran, 0);
    EXPECT_LE(launched.mark.ended, 1);
    EXPECT_LE(destroyed.mark.ended, 1);
    return verdict();
}

// contract: X3, B2
TEST(sticky_error, before_a_graph_drops_its_functions_and_may_keep_its_objects) {
    const ending e = run_scenario("sticky_error_before_a_graph");
    EXPECT_TRUE(e.in_time);
    EXPECT_EQ(e.exit_code, 0) << e.output;
    std::printf("%s", e.output.c_str());
}

// contract: X3
TEST(sticky_error, is_told_by_sync_and_by_later_calls_and_pending_functions_never_run) {
    expect_scenario("sticky_error_is_told_by_sync");
}

// contract: L4
TEST(sticky_error, is_told_without_a_sync_by_an_event_that_was_never_recorded) {
    expect_scenario("sticky_error_without_a_sync");
}

// contract: X3
TEST(sticky_error, is_told_in_every_context_of_the_process) {
    expect_scenario("sticky_error_everywhere");
}

TEST(sticky_error, goes_behind_a_reset_of_the_context_and_pending_functions_still_never_run) {
    expect_scenario("sticky_error_and_a_reset");
}

// contract: X1
TEST(sticky_error, does_not_keep_the_process_from_exiting) {
    expect_scenario("sticky_error_and_exit", 7);
}

}  // namespace
}  // namespace hostlaunch::contract
