// SPDX-License-Identifier: Apache-2.0
// Memory in stream order, its pools, and what is told of an address.
#include <cstdlib>

#include "contract/memory_scene.hpp"

namespace hostlaunch::contract {
namespace {

// CUmemPool_attribute and CUpointer_attribute
constexpr int release_threshold = 4;
constexpr int reserved_now = 5;
constexpr int used_now = 7;
constexpr int of_memory_type = 2;
constexpr int is_managed = 8;
constexpr int device_ordinal = 9;
constexpr int range_bytes = 12;

class memory : public memory_test {
  protected:
    memory_pool make_pool(std::uint64_t threshold = 0) {
        pool_params params{};
        params.allocation_type = 1;  // CU_MEM_ALLOCATION_TYPE_PINNED
        params.location = {1, 0};    // CU_MEM_LOCATION_TYPE_DEVICE
        memory_pool pool = nullptr;
        EXPECT_EQ(calls().cuMemPoolCreate(&pool, &params), success);
        EXPECT_EQ(calls().cuMemPoolSetAttribute(pool, release_threshold, &threshold), success);
        return pool;
    }
    static std::uint64_t attribute(memory_pool pool, int which) {
        std::uint64_t value = 0;
        EXPECT_EQ(calls().cuMemPoolGetAttribute(pool, which, &value), success);
        return value;
    }
    template <class T>
    static T tell(device_ptr pointer, int which) {
        T value{};
        EXPECT_EQ(calls().cuPointerGetAttribute(&value, which, pointer), success);
        return value;
    }
};

// contract: N2
TEST_F(memory, of_a_stream_is_there_for_later_work_and_goes_in_its_turn) {
    const stream s = make_stream();
    device_ptr p = 0;
    ASSERT_EQ(calls().cuMemAllocAsync(&p, 100, s), success);
    EXPECT_EQ(api().memset_d8_async(p, 3, 100, s), success);
    EXPECT_EQ(api().memcpy_async(first_, p, 8, s), success);
    EXPECT_EQ(calls().cuMemFreeAsync(p, s), success);
    EXPECT_EQ(api().stream_synchronize(s), success);
    EXPECT_EQ(word(0), 0x0303030303030303u);
}

// contract: N2
TEST_F(memory, that_was_freed_is_used_again_by_the_same_stream_before_the_free_has_come) {
    const stream s = make_stream();
    const memory_pool pool = make_pool(std::uint64_t{1} << 30);
    blocker& g = hold(s);
    device_ptr first = 0;
    device_ptr second = 0;
    ASSERT_EQ(calls().cuMemAllocFromPoolAsync(&first, 4096, pool, s), success);
    EXPECT_EQ(calls().cuMemFreeAsync(first, s), success);
    ASSERT_EQ(calls().cuMemAllocFromPoolAsync(&second, 4096, pool, s), success);
    EXPECT_EQ(second, first);
    EXPECT_EQ(calls().cuMemFreeAsync(second, s), success);
    g.let_go();
    EXPECT_EQ(api().stream_synchronize(s), success);
    EXPECT_EQ(attribute(pool, used_now), 0u);
    EXPECT_EQ(calls().cuMemPoolDestroy(pool), success);
}

// contract: N2
TEST_F(memory, that_a_held_stream_has_to_free_first_is_not_given_to_another) {
    const stream held = make_stream();
    const stream other = make_stream();
    const memory_pool pool = make_pool(std::uint64_t{1} << 30);
    blocker& g = hold(held);
    device_ptr first = 0;
    device_ptr second = 0;
    ASSERT_EQ(calls().cuMemAllocFromPoolAsync(&first, 4096, pool, held), success);
    EXPECT_EQ(calls().cuMemFreeAsync(first, held), success);
    ASSERT_EQ(calls().cuMemAllocFromPoolAsync(&second, 4096, pool, other), success);
    EXPECT_NE(second, first);
    EXPECT_EQ(calls().cuMemFreeAsync(second, other), success);
    g.let_go();
    EXPECT_EQ(api().stream_synchronize(held), success);
    EXPECT_EQ(api().stream_synchronize(other), success);
    EXPECT_EQ(calls().cuMemPoolDestroy(pool), success);
}

// contract: N2
TEST_F(memory, that_a_pool_keeps_goes_back_when_it_is_trimmed) {
    const stream s = make_stream();
    const memory_pool pool = make_pool(std::uint64_t{1} << 30);
    device_ptr p = 0;
    ASSERT_EQ(calls().cuMemAllocFromPoolAsync(&p, 4096, pool, s), success);
    EXPECT_GE(attribute(pool, used_now), 4096u);
    EXPECT_EQ(calls().cuMemFreeAsync(p, s), success);
    EXPECT_EQ(api().stream_synchronize(s), success);
    EXPECT_EQ(attribute(pool, used_now), 0u);
    EXPECT_GE(attribute(pool, reserved_now), 4096u);
    EXPECT_EQ(calls().cuMemPoolTrimTo(pool, 0), success);
    EXPECT_EQ(attribute(pool, reserved_now), 0u);
    EXPECT_EQ(calls().cuMemPoolDestroy(pool), success);
}

// contract: N2
TEST_F(memory, of_a_destroyed_pool_stays_until_it_is_freed) {
    const stream s = make_stream();
    const memory_pool pool = make_pool();
    device_ptr p = 0;
    ASSERT_EQ(calls().cuMemAllocFromPoolAsync(&p, 64, pool, s), success);
    EXPECT_EQ(calls().cuMemPoolDestroy(pool), success);
    EXPECT_EQ(api().memset_d8_async(p, 1, 64, s), success);
    EXPECT_EQ(calls().cuMemFreeAsync(p, s), success);
    EXPECT_EQ(api().stream_synchronize(s), success);
}

// contract: N2
TEST_F(memory, is_told_by_its_address) {
    const device_ptr p = make_memory(256);
    EXPECT_EQ(tell<int>(p + 5, of_memory_type), static_cast<int>(memory_type::device));
    EXPECT_EQ(tell<int>(first_, of_memory_type), static_cast<int>(memory_type::host));
    EXPECT_EQ(tell<int>(p, device_ordinal), 0);
    EXPECT_EQ(tell<std::size_t>(p + 5, range_bytes), 256u);
    device_ptr base = 0;
    std::size_t size = 0;
    EXPECT_EQ(calls().cuMemGetAddressRange(&base, &size, p + 100), success);
    EXPECT_EQ(base, p);
    EXPECT_EQ(size, 256u);
}

// contract: N2
TEST_F(memory, that_nobody_allocated_is_told_as_unknown) {
    int local = 0;
    const auto pointer = reinterpret_cast<device_ptr>(&local);
    unsigned type = 99;
    unsigned managed = 99;
    EXPECT_EQ(calls().cuPointerGetAttribute(&type, of_memory_type, pointer), error_invalid_value);
    int attributes[] = {of_memory_type, is_managed};
    void* out[] = {&type, &managed};
    EXPECT_EQ(calls().cuPointerGetAttributes(2, attributes, out, pointer), success);
    EXPECT_EQ(type, 0u);
    EXPECT_EQ(managed, 0u);
}

// contract: N2
TEST_F(memory, that_is_managed_is_the_hosts_and_the_devices) {
    const stream s = make_stream();
    device_ptr p = 0;
    ASSERT_EQ(calls().cuMemAllocManaged(&p, 64, 1), success);
    EXPECT_EQ(tell<unsigned>(p, is_managed), 1u);
    EXPECT_EQ(api().memset_d8_async(p, 4, 64, s), success);
    EXPECT_EQ(api().stream_synchronize(s), success);
    EXPECT_EQ(*reinterpret_cast<unsigned char*>(p), 4);
    EXPECT_EQ(api().mem_free(p), success);
}

// contract: N2
TEST_F(memory, of_the_host_is_registered_once_and_given_back) {
    constexpr std::size_t page = 4096;
    void* const own = std::aligned_alloc(page, page);
    ASSERT_NE(own, nullptr);
    device_ptr p = 0;
    EXPECT_EQ(calls().cuMemHostRegister(own, page, mem_host_alloc_device_map), success);
    EXPECT_EQ(calls().cuMemHostRegister(own, page, mem_host_alloc_device_map), 712);
    EXPECT_EQ(api().host_get_device_pointer(&p, own, 0), success);
    const stream s = make_stream();
    EXPECT_EQ(api().memset_d8_async(p, 6, page, s), success);
    EXPECT_EQ(api().stream_synchronize(s), success);
    EXPECT_EQ(*static_cast<unsigned char*>(own), 6);
    EXPECT_EQ(calls().cuMemHostUnregister(own), success);
    EXPECT_EQ(calls().cuMemHostUnregister(own), 713);
    std::free(own);
}

// contract: N2
TEST_F(memory, is_set_by_elements_of_two_bytes_and_in_rows) {
    const stream s = make_stream();
    const device_ptr p = make_memory(1024);
    EXPECT_EQ(api().memset_d8_async(p, 0, 1024, s), success);
    EXPECT_EQ(calls().cuMemsetD16Async(p, 0x0201, 2, s), success);
    EXPECT_EQ(calls().cuMemsetD2D32Async(p + 512, 256, 0x04030201, 1, 2, s), success);
    EXPECT_EQ(api().stream_synchronize(s), success);
    EXPECT_EQ(read(p, 5), (std::vector<std::uint8_t>{1, 2, 1, 2, 0}));
    EXPECT_EQ(read(p + 512, 5), (std::vector<std::uint8_t>{1, 2, 3, 4, 0}));
    EXPECT_EQ(read(p + 768, 5), (std::vector<std::uint8_t>{1, 2, 3, 4, 0}));
}

}  // namespace
}  // namespace hostlaunch::contract
