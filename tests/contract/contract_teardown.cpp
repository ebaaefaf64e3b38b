// SPDX-License-Identifier: Apache-2.0
// Streams and contexts that end with functions pending.
#include "contract/scene.hpp"

namespace hostlaunch::contract {
namespace {

class teardown : public driver_test {
  protected:
    // What the library asks a context, on a thread of its own, to see whether it still works.
    result ask(context c) {
        call& asks = elsewhere(c, [] {
            event e = nullptr;
            if (const result made = api().event_create(&e, event_disable_timing)) return made;
            const result answer = api().event_query(e);
            EXPECT_EQ(api().event_destroy(e), success);
            return answer;
        });
        EXPECT_TRUE(asks.returns());
        return asks.answer();
    }
};

// contract: section 2, closing a stream
TEST_F(teardown, a_destroyed_stream_still_runs_all_its_functions) {
    const stream s = make_stream();
    std::atomic<int>& ran = make_counter();
    blocker& g = hold(s);
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(launch(s, ran), success);
    }
    call& destroys = elsewhere([s] { return api().stream_destroy(s); });
    EXPECT_TRUE(destroys.returns());
    EXPECT_TRUE(g.is_held());
    EXPECT_EQ(destroys.answer(), success);
    disown(s);
    EXPECT_EQ(ran, 0);
    g.let_go();
    ASSERT_EQ(api().ctx_synchronize(), success);
    EXPECT_EQ(ran, 100);
}

TEST_F(teardown, destroying_a_context_waits_until_all_its_functions_have_run) {
    const context doomed = make_context();
    const stream s = make_stream_in(doomed);
    std::atomic<int>& ran = make_counter();
    blocker& g = hold(s);
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(launch(s, ran), success);
    }
    call& destroys = elsewhere([doomed] { return api().ctx_destroy(doomed); });
    EXPECT_TRUE(destroys.blocks());
    EXPECT_EQ(ask(doomed), success);
    EXPECT_EQ(ran, 0);
    g.let_go();
    EXPECT_EQ(destroys.answer(), success);
    EXPECT_EQ(ran, 100);
    disown(s);
    disown(doomed);
}

TEST_F(teardown, resetting_a_primary_context_waits_until_all_its_functions_have_run) {
    const stream s = make_stream();
    std::atomic<int>& ran = make_counter();
    blocker& g = hold(s);
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(launch(s, ran), success);
    }
    call& resets = elsewhere(nullptr, [] { return api().primary_ctx_reset(0); });
    EXPECT_TRUE(resets.blocks());
    EXPECT_EQ(ask(ctx_), success);
    EXPECT_EQ(ran, 0);
    g.let_go();
    EXPECT_EQ(resets.answer(), success);
    EXPECT_EQ(ran, 100);
    disown(s);
    context again = nullptr;
    ASSERT_EQ(api().primary_ctx_retain(&again, 0), success);
    ctx_ = again;
    ASSERT_EQ(api().primary_ctx_release(0), success);
}

}  // namespace
}  // namespace hostlaunch::contract
