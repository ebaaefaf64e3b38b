// SPDX-License-Identifier: Apache-2.0
// Allocations of the library: none per launch in steady state, and nothing is left if one fails.
// Counts every operator new of the process, on all threads, but those of the driver's own code.
#include <gtest/gtest.h>
#include <link.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "surface/allocations.hpp"
#include "surface/fixture.hpp"

thread_local int hostlaunch::test::allocations_until_failure = 0;

namespace {

std::atomic<bool> counting{false};
std::atomic<int> allocations{0};
std::uintptr_t driver_begin = 0;
std::uintptr_t driver_end = 0;

int find_driver(dl_phdr_info* info, std::size_t, void*) {
    if (std::strstr(info->dlpi_name, "hostlaunch_embedded") == nullptr) return 0;
    driver_begin = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& part = info->dlpi_phdr[i];
        if (part.p_type != PT_LOAD) continue;
        driver_end = std::max(driver_end, info->dlpi_addr + part.p_vaddr + part.p_memsz);
    }
    return 1;
}

void* allocate(std::size_t size, std::size_t alignment, void* caller) {
    const auto from = reinterpret_cast<std::uintptr_t>(caller);
    const bool counts = from < driver_begin || from >= driver_end;
    if (counting && counts) ++allocations;
    int& until_failure = hostlaunch::test::allocations_until_failure;
    if (counts && until_failure != 0 && --until_failure == 0) throw std::bad_alloc();
    void* memory = std::aligned_alloc(alignment, (size + alignment) / alignment * alignment);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

}  // namespace

void* operator new(std::size_t size) {
    return allocate(size, 16, __builtin_return_address(0));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    return allocate(size, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    try {
        return allocate(size, 16, __builtin_return_address(0));
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}

namespace hostlaunch::test {

void find_driver_code() {
    dl_iterate_phdr(&find_driver, nullptr);
    EXPECT_NE(driver_end, 0u);
}

namespace {

class allocating : public on_a_stream {
  protected:
    // Launches 500 at a time and lets all of them be released in between.
    template <class Launch>
    void repeat(int times, Launch&& launch) {
        for (int i = 0; i < times; ++i) {
            for (int n = 0; n < 500; ++n)
                launch();
            s_->sync();
            ASSERT_TRUE(eventually(nothing_outstanding));
        }
    }
    void SetUp() override {
        on_a_stream::SetUp();
        find_driver_code();
    }
    // Lets each allocation of make() fail in turn; what it makes must not stay in the driver.
    template <class Make>
    void fail_each(Make&& make) {
        make();
        const auto alive = std::pair(live(), hostlaunch_embedded_live("events"));
        for (int nth = 1;; ++nth) {
            SCOPED_TRACE("allocation " + std::to_string(nth));
            allocations_until_failure = nth;
            try {
                make();
                EXPECT_GT(nth, 1);
                allocations_until_failure = 0;
                return;
            } catch (const std::bad_alloc&) {
                EXPECT_EQ(allocations_until_failure, 0);
            }
            EXPECT_EQ(std::pair(live(), hostlaunch_embedded_live("events")), alive);
        }
    }
    template <class Launch>
    int count(Launch&& launch) {
        fate f;  // its end shows that the library's thread has begun, which allocates once
        host_launch(*s_, watched(f));
        EXPECT_TRUE(eventually([&f] { return f.destroyed == 1; }));
        repeat(3, launch);
        allocations = 0;
        counting = true;
        repeat(10, launch);
        counting = false;
        return allocations;
    }
};

struct with_destructor {
    std::array<std::byte, 56> bytes{};
    std::atomic<int>* destroyed;
    explicit with_destructor(std::atomic<int>& count) : destroyed(&count) {}
    with_destructor(const with_destructor&) = default;
    ~with_destructor() { ++*destroyed; }
    void operator()() const {}
};
static_assert(sizeof(with_destructor) == 64);

TEST_F(allocating, is_counted) {
    // A new-expression could be left out by the compiler; calls of the functions cannot.
    EXPECT_EQ(count([] { ::operator delete(::operator new(4)); }), 5000);
}

// contract: C4
TEST_F(allocating, trivial_callables_do_not) {
    std::atomic<int> ran{0};
    EXPECT_EQ(count([&] { host_launch(*s_, [&ran] { ++ran; }); }), 0);
    EXPECT_EQ(ran, 6500);
}

// contract: C4
TEST_F(allocating, callables_of_64_bytes_with_a_destructor_do_not) {
    std::atomic<int> destroyed{0};
    EXPECT_EQ(count([&] { host_launch(*s_, with_destructor(destroyed)); }), 0);
    EXPECT_EQ(destroyed, 2 * 6500);  // the argument and its copy
}

// contract: C4
TEST_F(allocating, arguments_that_fit_with_their_callable_do_not) {
    std::atomic<long> sum{0};
    const auto add = [&sum](long a, long b, long c) { sum += a + b + c; };
    EXPECT_EQ(count([&] { host_launch(*s_, add, 1L, 2L, 3L); }), 0);
    EXPECT_EQ(sum, 6 * 6500);
}

// contract: C4
TEST_F(allocating, launches_by_handle_as_is_and_borrowed_do_not) {
    std::atomic<int> ran{0};
    auto borrowed = [&ran] { ++ran; };
    EXPECT_EQ(count([&] { host_launch(s_->handle(), [&ran] { ++ran; }); }), 0);
    EXPECT_EQ(count([&] { host_launch(*s_, std::ref(borrowed)); }), 0);
    EXPECT_EQ(count([&] { host_launch(*s_, +[](void*) {}, nullptr); }), 0);
}

// The copy itself and what the housekeeper needs to poll.
TEST_F(allocating, a_big_callable_takes_one) {
    const std::array<char, 100> big{};
    EXPECT_EQ(count([&] { host_launch(*s_, [big] { (void)big; }); }), 5000);
}

// contract: section 2
TEST_F(allocating, objects_that_find_no_memory_leave_nothing_in_the_driver) {
    stream other;
    fail_each([] { stream s; });
    fail_each([&] { (void)s_->record(); });
    fail_each([&] { s_->wait(other); });
    fail_each([] { buffer b(16); });
    fail_each([] { buffer b(16, buffer_kind::pinned); });
    fail_each([] {
        stream s;
        graph_builder b(s);
    });
    graph_builder building(other);
    building.begin_building();
    fail_each([&] { graph_builder::attach(other); });
    building.end_building();
}

}  // namespace
}  // namespace hostlaunch::test
