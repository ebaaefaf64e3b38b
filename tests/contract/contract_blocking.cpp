// SPDX-License-Identifier: Apache-2.0
// What blocks while a host function runs, and what while a stream waits on a value: a case for
// each.
#include "contract/scene.hpp"

namespace hostlaunch::contract {
namespace {

// Made before the stream is held; each call under test finds here what it needs.
struct props {
    stream held;
    stream other;   // idle
    stream doomed;  // with a function queued, to be destroyed
    event behind;   // recorded behind what holds the stream
    device_ptr memory;
    void* host_memory;
    std::atomic<int>* ran;
};

struct timed_call {
    const char* name;
    bool blocks;
    result answer;
    result (*make)(props& p);
    bool (*is_there)() = [] { return true; };
};

std::ostream& operator<<(std::ostream& out, const timed_call& c) {
    return out << c.name;
}

std::string name_of(const testing::TestParamInfo<timed_call>& info) {
    return std::string(info.param.name) + (info.param.blocks ? "_blocks" : "_returns");
}

constexpr char empty_module[] = ".version 7.0\n.target sm_70\n.address_size 64\n";

result launch_on(stream s, props& p) {
    return api().launch_host_func(s, count_up, p.ran);
}

result create_event(props&) {
    event e = nullptr;
    const result made = api().event_create(&e, event_disable_timing);
    return made != success ? made : api().event_destroy(e);
}

result destroy_event_behind(props& p) {
    event e = nullptr;
    if (const result made = api().event_create(&e, event_disable_timing)) return made;
    if (const result recorded = api().event_record(e, p.held)) return recorded;
    return api().event_destroy(e);
}

result create_stream(props&) {
    stream s = nullptr;
    const result made = api().stream_create(&s, stream_non_blocking, 0);
    return made != success ? made : api().stream_destroy(s);
}

result copy_a_little(props& p) {
    const int word = 42;
    return api().memcpy_htod(p.memory, &word, sizeof word);
}

result allocate_in_order(props& p) {
    device_ptr memory = 0;
    return api().mem_alloc_async(&memory, 64, p.other);
}

result load_module(props&) {
    void* module = nullptr;
    return api().module_load_data(&module, empty_module);
}

device_ptr address_of(void* memory) {
    return reinterpret_cast<device_ptr>(memory);
}

result copy_within_pinned_memory(props& p) {
    return api().memcpy_async(address_of(p.host_memory) + 32, address_of(p.host_memory), 32,
                              p.held);
}

result copy_pinned_to_device(props& p) {
    return api().memcpy_async(p.memory, address_of(p.host_memory), 32, p.held);
}

class held_calls : public driver_test, public testing::WithParamInterface<timed_call> {
  protected:
    void make_props() {
        props_ = {make_stream(),   make_stream(),        make_stream(),  make_event(),
                  make_memory(64), make_host_memory(64), &make_counter()};
    }
    void expect_as_told(const std::function<void()>& let_go) {
        const timed_call& wanted = GetParam();
        call& c = elsewhere([this, &wanted] { return wanted.make(props_); });
        if (wanted.blocks) {
            EXPECT_TRUE(c.blocks());
        } else {
            EXPECT_TRUE(c.returns());
        }
        let_go();
        EXPECT_EQ(c.answer(), wanted.answer);
        forget_what_the_call_freed();
    }
    props props_{};

  private:
    void forget_what_the_call_freed() {
        const std::string name = GetParam().name;
        if (name == "mem_free") disown(props_.memory);
        if (name == "mem_free_host") disown_host(props_.host_memory);
        if (name == "stream_destroy") disown(props_.doomed);
    }
};

using while_a_function_runs = held_calls;

// contract: G3
TEST_P(while_a_function_runs, a_call) {
    if (!GetParam().is_there()) GTEST_SKIP() << "this driver has no such call";
    make_props();
    blocker& g = hold(props_.held);
    ASSERT_EQ(api().event_record(props_.behind, props_.held), success);
    ASSERT_EQ(launch_on(props_.doomed, props_), success);
    expect_as_told([&g] {
        EXPECT_TRUE(g.is_held());
        g.let_go();
    });
}

INSTANTIATE_TEST_SUITE_P(
    , while_a_function_runs,
    testing::Values(
        timed_call{"stream_query", false, error_not_ready,
                   [](props& p) { return api().stream_query(p.held); }},
        timed_call{"launch_on_the_same_stream", false, success,
                   [](props& p) { return launch_on(p.held, p); }},
        timed_call{"launch_on_another_stream", false, success,
                   [](props& p) { return launch_on(p.other, p); }},
        timed_call{"event_record", false, success,
                   [](props& p) { return api().event_record(p.behind, p.held); }},
        timed_call{"event_query", false, error_not_ready,
                   [](props& p) { return api().event_query(p.behind); }},
        timed_call{"event_create", false, success, create_event},
        timed_call{"event_destroy", false, success, destroy_event_behind},
        timed_call{"stream_wait_event", false, success,
                   [](props& p) { return api().stream_wait_event(p.other, p.behind, 0); }},
        timed_call{"stream_create", false, success, create_stream},
        timed_call{"stream_destroy", false, success,
                   [](props& p) { return api().stream_destroy(p.doomed); }},
        timed_call{"stream_synchronize_of_an_idle_stream", false, success,
                   [](props& p) { return api().stream_synchronize(p.other); }},
        timed_call{"mem_alloc", false, success,
                   [](props&) {
                       device_ptr memory = 0;
                       return api().mem_alloc(&memory, 64);
                   }},
        timed_call{"mem_alloc_async", false, success, allocate_in_order,
                   [] { return api().mem_alloc_async != nullptr; }},
        timed_call{"mem_host_alloc", false, success,
                   [](props&) {
                       void* memory = nullptr;
                       return api().mem_host_alloc(&memory, 64, 0);
                   }},
        timed_call{"memcpy_htod", false, success, copy_a_little},
        timed_call{"memcpy_async_to_the_device", false, success, copy_pinned_to_device},
        timed_call{"memcpy_async_from_host_to_host", true, success, copy_within_pinned_memory},
        timed_call{"memset_async", false, success,
                   [](props& p) { return api().memset_d8_async(p.memory, 1, 64, p.held); }},
        timed_call{"stream_synchronize", true, success,
                   [](props& p) { return api().stream_synchronize(p.held); }},
        timed_call{"stream_synchronize_of_another_with_a_function", true, success,
                   [](props& p) { return api().stream_synchronize(p.doomed); }},
        timed_call{"event_synchronize", true, success,
                   [](props& p) { return api().event_synchronize(p.behind); }},
        timed_call{"ctx_synchronize", true, success,
                   [](props&) { return api().ctx_synchronize(); }},
        timed_call{"mem_free", true, success, [](props& p) { return api().mem_free(p.memory); }},
        timed_call{"mem_free_host", true, success,
                   [](props& p) { return api().mem_free_host(p.host_memory); }},
        timed_call{"module_load_data", true, success, load_module,
                   [] { return api().module_load_data != nullptr && !on_embedded(); }}),
    name_of);

using while_a_stream_waits_on_a_value = held_calls;

TEST_P(while_a_stream_waits_on_a_value, a_call) {
    make_props();
    const value_gate& g = make_value_gate();
    ASSERT_EQ(g.hold(props_.held), success);
    ASSERT_EQ(launch_on(props_.doomed, props_), success);
    expect_as_told([&g] { g.release(); });
}

INSTANTIATE_TEST_SUITE_P(
    , while_a_stream_waits_on_a_value,
    testing::Values(timed_call{"stream_synchronize_of_another_with_a_function", false, success,
                               [](props& p) { return api().stream_synchronize(p.doomed); }},
                    timed_call{"launch_on_the_same_stream", false, success,
                               [](props& p) { return launch_on(p.held, p); }},
                    timed_call{"stream_synchronize", true, success,
                               [](props& p) { return api().stream_synchronize(p.held); }},
                    timed_call{"ctx_synchronize", true, success,
                               [](props&) { return api().ctx_synchronize(); }},
                    timed_call{"mem_free", true, success,
                               [](props& p) { return api().mem_free(p.memory); }},
                    timed_call{"mem_free_host", true, success,
                               [](props& p) { return api().mem_free_host(p.host_memory); }}),
    name_of);

}  // namespace
}  // namespace hostlaunch::contract
