// SPDX-License-Identifier: Apache-2.0
// Buffers over the driver table.
#include "core/objects/buffer.hpp"

#include <new>

#include "core/objects/stream.hpp"
#include "driver/driver.hpp"

namespace hostlaunch::core {
namespace {

using driver_library::api;

std::uint64_t number(void* pointer) noexcept {
    return reinterpret_cast<std::uint64_t>(pointer);
}

constexpr object_type device_memory_type{
    .destroy = [](std::uint64_t value) noexcept { return api().mem_free(value); },
    .left_at_exit = true};

constexpr object_type host_memory_type{
    .destroy =
        [](std::uint64_t value) noexcept {
            return api().mem_free_host(reinterpret_cast<void*>(value));
        },
    .left_at_exit = true};

const object_type& type_of(buffer::kind k) noexcept {
    return k == buffer::kind::device ? device_memory_type : host_memory_type;
}

}  // namespace

buffer::buffer(std::size_t bytes, kind k, std::uint64_t address) noexcept
    : handle_(type_of(k), address), bytes_(bytes), kind_(k) {}

status buffer::create(std::size_t bytes, kind k, int device, std::unique_ptr<buffer>& out) {
    const relaxed_capture mode;
    abi::context context = nullptr;
    if (const status s = choose_context(device, &context); !s.ok()) return s;
    const current_context scope(context);
    if (!scope.status().ok()) return scope.status();
    std::uint64_t address = 0;
    if (k == kind::device) {
        if (const int code = api().mem_alloc(&address, bytes)) return {code, "cuMemAlloc"};
    } else {
        void* memory = nullptr;
        const unsigned flags = abi::mem_host_alloc_portable | abi::mem_host_alloc_device_map;
        if (const int code = api().mem_host_alloc(&memory, bytes, flags)) {
            return {code, "cuMemHostAlloc"};
        }
        address = number(memory);
    }
    out.reset(new (std::nothrow) buffer(bytes, k, address));
    if (out == nullptr) destroy_for_want_of_memory(type_of(k), address);
    return {};
}

status copy(stream_target target, buffer& destination, buffer& source) noexcept {
    const work_scope scope(target);
    if (!scope.status().ok()) return scope.status();
    return {api().memcpy_async(destination.raw(), source.raw(), source.size(), target.handle),
            "cuMemcpyAsync"};
}

status fill(stream_target target, buffer& destination, unsigned char value) noexcept {
    const work_scope scope(target);
    if (!scope.status().ok()) return scope.status();
    return {api().memset_d8_async(destination.raw(), value, destination.size(), target.handle),
            "cuMemsetD8Async"};
}

}  // namespace hostlaunch::core
