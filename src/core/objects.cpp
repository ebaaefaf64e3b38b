// SPDX-License-Identifier: Apache-2.0
// Streams, events and buffers over the driver table.
#include "core/objects.hpp"

#include <new>

#include "core/process.hpp"
#include "driver/driver.hpp"

namespace hostlaunch::core {
namespace {

using driver_library::api;

std::uint64_t number(void* pointer) noexcept {
    return reinterpret_cast<std::uint64_t>(pointer);
}

// The context to create things in: of a named device, else the current one, else of device 0.
status choose_context(int device, abi::context* out) noexcept {
    if (device >= 0) return primary_context(device, out);
    if (const int code = api().ctx_get_current(out)) return {code, "cuCtxGetCurrent"};
    return *out != nullptr ? status{} : primary_context(0, out);
}

object_kind kind_of(buffer::kind k) noexcept {
    return k == buffer::kind::device ? object_kind::device_memory : object_kind::host_memory;
}

// For a driver object that was created and has nobody to hold it.
[[noreturn]] void destroy_for_want_of_memory(object_kind kind, std::uint64_t value) {
    destroy_object(kind, value);
    throw std::bad_alloc();
}

}  // namespace

stream::stream(abi::stream borrowed) noexcept
    : stream_handle(object_kind::none, number(borrowed)) {}

stream::stream(abi::stream created, abi::context context, int device) noexcept
    : stream_handle(object_kind::stream, number(created)), context_(context), device_(device) {}

status stream::create(const stream_options& options, std::unique_ptr<stream>& out) {
    const relaxed_capture mode;
    abi::context context = nullptr;
    if (const status s = choose_context(options.device, &context); !s.ok()) return s;
    const current_context scope(context);
    if (!scope.status().ok()) return scope.status();

    int device = 0;
    if (const int code = api().ctx_get_device(&device)) return {code, "cuCtxGetDevice"};
    if (options.priority) {
        int least = 0;
        int greatest = 0;
        if (const int code = api().ctx_get_stream_priority_range(&least, &greatest)) {
            return {code, "cuCtxGetStreamPriorityRange"};
        }
        if (*options.priority < greatest || *options.priority > least) {
            return {abi::error_invalid_value, nullptr};
        }
    }
    abi::stream created = nullptr;
    const unsigned flags = options.nonblocking ? abi::stream_non_blocking : abi::stream_default;
    if (const int code = api().stream_create(&created, flags, options.priority.value_or(0))) {
        return {code, "cuStreamCreateWithPriority"};
    }
    out.reset(new (std::nothrow) stream(created, context, device));
    if (out == nullptr) destroy_for_want_of_memory(object_kind::stream, number(created));
    return {};
}

status stream::device(int* out) noexcept {
    if (device_ < 0) {
        stream_target where = target();
        if (const status s = find_context(where); !s.ok()) return s;
        return device_of(where.context, out);
    }
    *out = device_;
    return {};
}

event::event(abi::event created) noexcept : handle_(object_kind::event, number(created)) {}

abi::event event::raw() const noexcept {
    return reinterpret_cast<abi::event>(handle_.value());
}

status event::create(const stream_target& target, std::unique_ptr<event>& out) {
    const relaxed_capture mode;
    const current_context scope(target.context);
    if (!scope.status().ok()) return scope.status();
    abi::event created = nullptr;
    if (const int code = api().event_create(&created, abi::event_disable_timing)) {
        return {code, "cuEventCreate"};
    }
    out.reset(new (std::nothrow) event(created));
    if (out == nullptr) destroy_for_want_of_memory(object_kind::event, number(created));
    return {};
}

status event::sync() noexcept {
    if (const status s = may_block(); !s.ok()) return s;
    const relaxed_capture mode;
    return {api().event_synchronize(raw()), "cuEventSynchronize"};
}

status event::query(bool* done) noexcept {
    const relaxed_capture mode;
    const int code = api().event_query(raw());
    *done = code == abi::success;
    return {code == abi::error_not_ready ? abi::success : code, "cuEventQuery"};
}

buffer::buffer(std::size_t bytes, kind k, std::uint64_t address) noexcept
    : handle_(kind_of(k), address), bytes_(bytes), kind_(k) {}

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
    if (out == nullptr) destroy_for_want_of_memory(kind_of(k), address);
    return {};
}

status may_block() noexcept {
    if (const status s = may_enter(); !s.ok()) return s;
    abi::context context = nullptr;
    const int code = api().ctx_get_current(&context);
    if (code == abi::error_not_permitted) return refuse(misuse::in_host_function);
    return {};
}

status sync_stream(stream_target target) noexcept {
    if (const status s = may_block(); !s.ok()) return s;
    const relaxed_capture mode;
    const target_scope scope(target);
    if (!scope.status().ok()) return scope.status();
    const int code = api().stream_synchronize(target.handle);
    if (code == abi::error_invalid_context && is_default_stream(target.handle)) {
        return refuse(misuse::no_context);
    }
    return {code, "cuStreamSynchronize"};
}

status record_event(stream_target target, event& e) noexcept {
    const work_scope scope(target);
    if (!scope.status().ok()) return scope.status();
    return {api().event_record(e.raw(), target.handle), "cuEventRecord"};
}

status record_new_event(stream_target target, std::unique_ptr<event>& out) {
    const work_scope scope(target);
    if (!scope.status().ok()) return scope.status();
    std::unique_ptr<event> made;
    if (const status s = event::create(target, made); !s.ok()) return s;
    if (const int code = api().event_record(made->raw(), target.handle)) {
        return {code, "cuEventRecord"};
    }
    out = std::move(made);
    return {};
}

status wait_event(stream_target target, event& e) noexcept {
    const work_scope scope(target);
    if (!scope.status().ok()) return scope.status();
    return {api().stream_wait_event(target.handle, e.raw(), abi::event_wait_default),
            "cuStreamWaitEvent"};
}

status wait_stream(stream_target target, stream_target other) {
    std::unique_ptr<event> marker;
    if (const status s = record_new_event(other, marker); !s.ok()) return s;
    return wait_event(target, *marker);
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
