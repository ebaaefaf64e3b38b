// SPDX-License-Identifier: Apache-2.0
// What the cases about memory share: the calls, words that device and host both see, and readers.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "contract/scene.hpp"
#include "embedded/abi.hpp"

namespace hostlaunch::contract {

using embedded::batch_params;
using embedded::copy_params;
using embedded::fill_params;
using embedded::memory_pool;
using embedded::memory_type;
using embedded::node_params;
using embedded::pool_params;
using embedded::value_operation;
using embedded::value_params;

struct memory_calls {
#define HOSTLAUNCH_MEMORY_ENTRY(name, version, params) result(*name) params = nullptr;
#include "contract/memory_entries.def"
#undef HOSTLAUNCH_MEMORY_ENTRY
};

// Null where the driver lacks a call.
inline const memory_calls& calls() {
    static const memory_calls found = [] {
        memory_calls c;
#define HOSTLAUNCH_MEMORY_ENTRY(name, version, params)                                       \
    if (get_proc_address()(#name, reinterpret_cast<void**>(&c.name), version, 0, nullptr) != \
        success) {                                                                           \
        c.name = nullptr;                                                                    \
    }
#include "contract/memory_entries.def"
#undef HOSTLAUNCH_MEMORY_ENTRY
        return c;
    }();
    return found;
}

inline value_params value_operation_on(value_operation operation, device_ptr address,
                                       std::uint64_t value, unsigned flags = 0) {
    value_params v{};
    v.operation = operation;
    v.address = address;
    v.value = value;
    v.flags = flags;
    return v;
}

class memory_test : public driver_test {
  protected:
    // Two words that host and device share; zero.
    void SetUp() override {
        driver_test::SetUp();
        words_ = static_cast<std::uint64_t*>(make_host_memory(2 * sizeof(std::uint64_t)));
        words_[0] = words_[1] = 0;
        ASSERT_EQ(api().host_get_device_pointer(&first_, words_, 0), success);
        second_ = first_ + sizeof(std::uint64_t);
    }
    std::uint64_t word(int i) const {
        return std::atomic_ref(words_[i]).load(std::memory_order_acquire);
    }
    void write_word(int i, std::uint64_t value) const {
        std::atomic_ref(words_[i]).store(value, std::memory_order_release);
    }
    void expect_word(int i, std::uint64_t wanted) const {
        EXPECT_TRUE(eventually([&] { return word(i) == wanted; })) << word(i);
    }
    std::vector<std::uint8_t> read(device_ptr from, std::size_t bytes) const {
        std::vector<std::uint8_t> out(bytes);
        EXPECT_EQ(calls().cuMemcpyDtoH(out.data(), from, bytes), success);
        return out;
    }
    graph make_graph() {
        graph g = nullptr;
        EXPECT_EQ(api().graph_create(&g, 0), success);
        return g;
    }
    // Launches once, waits, and ends the executable and the graph.
    void run_and_end(graph g, stream s) {
        graph_exec exec = nullptr;
        ASSERT_EQ(api().graph_instantiate(&exec, g, 0), success);
        EXPECT_EQ(api().graph_launch(exec, s), success);
        EXPECT_EQ(api().stream_synchronize(s), success);
        EXPECT_EQ(api().graph_exec_destroy(exec), success);
        EXPECT_EQ(api().graph_destroy(g), success);
    }

    std::uint64_t* words_ = nullptr;
    device_ptr first_ = 0;
    device_ptr second_ = 0;
};

}  // namespace hostlaunch::contract
