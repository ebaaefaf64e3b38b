// SPDX-License-Identifier: Apache-2.0
// operator new and delete of the whole program, replaced by ones that count.
#include "counting.hpp"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::uint64_t> calls{0};
std::atomic<std::int64_t> bytes_held{0};

void* counted(void* memory) noexcept {
    if (memory == nullptr) return nullptr;
    calls.fetch_add(1, std::memory_order_relaxed);
    bytes_held.fetch_add(static_cast<std::int64_t>(malloc_usable_size(memory)),
                         std::memory_order_relaxed);
    return memory;
}

void* require(void* memory) {
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

void give_back(void* memory) noexcept {
    if (memory == nullptr) return;
    bytes_held.fetch_sub(static_cast<std::int64_t>(malloc_usable_size(memory)),
                         std::memory_order_relaxed);
    std::free(memory);
}

void* aligned(std::size_t size, std::align_val_t alignment) noexcept {
    const auto step = static_cast<std::size_t>(alignment);
    return counted(std::aligned_alloc(step, (size + step - 1) / step * step));
}

}  // namespace

hostlaunch::bench::allocation_counts hostlaunch::bench::count_allocations() noexcept {
    return {calls.load(), bytes_held.load()};
}

void* operator new(std::size_t size) {
    return require(counted(std::malloc(size)));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return counted(std::malloc(size));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    return require(aligned(size, alignment));
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return aligned(size, alignment);
}
void* operator new[](std::size_t size) {
    return operator new(size);
}
void* operator new[](std::size_t size, const std::nothrow_t& n) noexcept {
    return operator new(size, n);
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
    return operator new(size, alignment);
}
void* operator new[](std::size_t size, std::align_val_t alignment,
                     const std::nothrow_t& n) noexcept {
    return operator new(size, alignment, n);
}
void operator delete(void* memory) noexcept {
    give_back(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    give_back(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
    give_back(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    give_back(memory);
}
void operator delete[](void* memory) noexcept {
    give_back(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
    give_back(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
    give_back(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
    give_back(memory);
}
