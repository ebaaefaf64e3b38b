// SPDX-License-Identifier: Apache-2.0
// Events, refusals that leave everything as it was, and how entry points are looked up.
#include "contract/scene.hpp"

namespace hostlaunch::contract {
namespace {

using events = driver_test;
using refusals = driver_test;
using entry_points = driver_test;

TEST_F(events, one_that_was_never_recorded_counts_as_complete) {
    const event e = make_event();
    EXPECT_EQ(api().event_query(e), success);
    EXPECT_EQ(api().event_synchronize(e), success);
    EXPECT_EQ(api().stream_wait_event(make_stream(), e, event_wait_default), success);
}

TEST_F(events, one_is_complete_once_the_work_before_its_last_record_is) {
    const stream s = make_stream();
    const event e = make_event();
    ASSERT_EQ(api().event_record(e, s), success);
    ASSERT_EQ(api().event_synchronize(e), success);
    blocker& g = hold(s);
    ASSERT_EQ(api().event_record(e, s), success);
    EXPECT_EQ(api().event_query(e), error_not_ready);
    g.let_go();
    EXPECT_EQ(api().event_synchronize(e), success);
    EXPECT_EQ(api().event_query(e), success);
}

TEST_F(events, a_destroyed_one_still_carries_its_order) {
    const stream first = make_stream();
    const stream second = make_stream();
    const event e = make_event();
    journal& book = keep<journal>();
    const value_gate& g = make_value_gate();
    ASSERT_EQ(g.hold(first), success);
    ASSERT_EQ(launch(first, book, 0), success);
    ASSERT_EQ(api().event_record(e, first), success);
    ASSERT_EQ(api().stream_wait_event(second, e, event_wait_default), success);
    ASSERT_EQ(api().event_destroy(e), success);
    disown(e);
    ASSERT_EQ(launch(second, book, 1), success);
    g.release();
    ASSERT_EQ(api().stream_synchronize(second), success);
    EXPECT_EQ(book.written(), (std::vector<int>{0, 1}));
}

TEST_F(events, recording_one_on_a_stream_of_another_context_is_refused) {
    const stream there = make_stream_in(make_context());
    EXPECT_EQ(api().event_record(make_event(), there), error_invalid_handle);
}

TEST_F(refusals, one_does_not_stick) {
    const stream s = make_stream();
    const stream there = make_stream_in(make_context());
    std::atomic<int>& ran = make_counter();
    device_ptr memory = 0;
    event e = nullptr;
    EXPECT_EQ(api().mem_alloc(&memory, 0), error_invalid_value);
    EXPECT_EQ(api().mem_alloc(&memory, std::size_t{1} << 60), error_out_of_memory);
    EXPECT_EQ(api().event_create(&e, 1u << 30), error_invalid_value);
    EXPECT_EQ(api().event_record(make_event(), there), error_invalid_handle);
    EXPECT_EQ(launch(s, ran), success);
    EXPECT_EQ(api().stream_synchronize(s), success);
    EXPECT_EQ(api().ctx_synchronize(), success);
    EXPECT_EQ(ran, 1);
}

// contract: D3. What a real driver does with a handle that it did not make is undefined.
TEST_F(refusals, a_handle_that_nobody_made_is_told_on_the_embedded_driver) {
    if (!on_embedded()) GTEST_SKIP() << "undefined on a real driver";
    int local = 0;
    const auto s = reinterpret_cast<stream>(&local);
    const auto e = reinterpret_cast<event>(&local);
    std::atomic<int>& ran = make_counter();
    capture_status status{};
    EXPECT_EQ(launch(s, ran), error_invalid_handle);
    EXPECT_EQ(api().stream_synchronize(s), error_invalid_handle);
    EXPECT_EQ(api().stream_is_capturing(s, &status), error_invalid_handle);
    EXPECT_EQ(api().event_query(e), error_invalid_handle);
    EXPECT_EQ(api().event_record(e, make_stream()), error_invalid_handle);
    EXPECT_EQ(ran, 0);
}

TEST_F(refusals, a_destroyed_stream_is_told_on_the_embedded_driver) {
    if (!on_embedded()) GTEST_SKIP() << "undefined on a real driver";
    const stream s = make_stream();
    std::atomic<int>& ran = make_counter();
    ASSERT_EQ(api().stream_destroy(s), success);
    disown(s);
    EXPECT_EQ(launch(s, ran), error_invalid_handle);
    EXPECT_EQ(api().stream_destroy(s), error_invalid_handle);
}

struct found {
    result code = -1;
    void* address = reinterpret_cast<void*>(1);
    proc_address_result status = proc_address_result::version_not_sufficient;
};

found find(const char* symbol, int version) {
    found f;
    f.code = get_proc_address()(symbol, &f.address, version, 0, &f.status);
    return f;
}

TEST_F(entry_points, one_is_found_by_base_name_and_version) {
    const found f = find("cuLaunchHostFunc", 10000);
    EXPECT_EQ(f.code, success);
    EXPECT_NE(f.address, nullptr);
    EXPECT_EQ(f.status, proc_address_result::found);
}

TEST_F(entry_points, an_unknown_one_is_a_success_with_a_null_pointer) {
    const found f = find("cuNoSuchEntryPoint", 10000);
    EXPECT_EQ(f.code, success);
    EXPECT_EQ(f.address, nullptr);
    EXPECT_EQ(f.status, proc_address_result::not_found);
}

TEST_F(entry_points, a_version_above_the_drivers_own_is_refused) {
    EXPECT_EQ(find("cuLaunchHostFunc", driver_version() + 10).code, error_invalid_value);
    if (driver_version() < 13020) {
        EXPECT_EQ(find("cuLaunchHostFunc_v2", 13020).code, error_invalid_value);
    } else {
        EXPECT_NE(find("cuLaunchHostFunc_v2", 13020).address, nullptr);
    }
}

TEST_F(entry_points, the_version_chooses_among_the_signatures_of_one_name) {
    const found before = find("cuStreamGetCtx", 9020);
    const found after = find("cuStreamGetCtx", 12050);
    EXPECT_NE(before.address, nullptr);
    EXPECT_NE(after.address, nullptr);
    EXPECT_NE(before.address, after.address);
}

TEST_F(entry_points, one_asked_for_at_a_version_before_it_existed_is_not_given) {
    const found f = find("cuLaunchHostFunc", 9000);
    EXPECT_EQ(f.code, success);
    EXPECT_EQ(f.address, nullptr);
    EXPECT_EQ(f.status, proc_address_result::version_not_sufficient);
}

TEST_F(entry_points, results_have_names) {
    const char* name = nullptr;
    EXPECT_EQ(api().get_error_name(error_not_permitted, &name), success);
    EXPECT_STREQ(name, "CUDA_ERROR_NOT_PERMITTED");
    EXPECT_EQ(api().get_error_name(123456, &name), error_invalid_value);
}

}  // namespace
}  // namespace hostlaunch::contract
