// SPDX-License-Identifier: Apache-2.0
// What the fixture makes, and how it lets all work end before it takes anything away.
#include "contract/scene.hpp"

namespace hostlaunch::contract {

value_gate& driver_test::make_value_gate() {
    value_gate& g = keep<value_gate>();
    g.word = static_cast<std::uint32_t*>(make_host_memory(sizeof *g.word));
    std::atomic_ref(*g.word).store(0);
    EXPECT_EQ(api().host_get_device_pointer(&g.address, g.word, 0), success);
    value_gates_.push_back(&g);
    return g;
}

context driver_test::make_context(int device) {
    context other = nullptr;
    EXPECT_EQ(api().ctx_create(&other, 0, device), success);
    EXPECT_EQ(api().ctx_set_current(ctx_), success);
    contexts_.push_back(other);
    return other;
}

stream driver_test::make_stream_in(context other) {
    EXPECT_EQ(api().ctx_set_current(other), success);
    const stream s = make_stream();
    EXPECT_EQ(api().ctx_set_current(ctx_), success);
    return s;
}

device_ptr driver_test::make_memory(std::size_t bytes) {
    device_ptr p = 0;
    EXPECT_EQ(api().mem_alloc(&p, bytes), success);
    memory_.push_back(p);
    return p;
}

void* driver_test::make_host_memory(std::size_t bytes) {
    void* p = nullptr;
    EXPECT_EQ(api().mem_host_alloc(&p, bytes, mem_host_alloc_portable | mem_host_alloc_device_map),
              success);
    host_memory_.push_back(p);
    return p;
}

void driver_test::end_all_work() {
    for (blocker* g : blockers_) {
        g->let_go();
    }
    for (const value_gate* g : value_gates_) {
        g->release();
    }
    calls_.clear();
    contexts_.push_back(ctx_);
    for (const context c : contexts_) {
        EXPECT_EQ(api().ctx_set_current(c), success);
        EXPECT_EQ(api().ctx_synchronize(), success);
    }
    contexts_.pop_back();
}

void driver_test::TearDown() {
    end_all_work();
    for (const stream s : streams_) {
        EXPECT_EQ(api().stream_destroy(s), success);
    }
    for (const event e : events_) {
        EXPECT_EQ(api().event_destroy(e), success);
    }
    for (const device_ptr p : memory_) {
        EXPECT_EQ(api().mem_free(p), success);
    }
    for (void* p : host_memory_) {
        EXPECT_EQ(api().mem_free_host(p), success);
    }
    for (const context c : contexts_) {
        EXPECT_EQ(api().ctx_destroy(c), success);
    }
    EXPECT_EQ(api().ctx_set_current(nullptr), success);
    EXPECT_EQ(api().primary_ctx_release(0), success);
}

}  // namespace hostlaunch::contract
