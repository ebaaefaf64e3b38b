// SPDX-License-Identifier: Apache-2.0
// Streams over the driver table.
#include "core/objects/stream.hpp"

#include <new>

#include "core/process/process.hpp"
#include "core/task/trace.hpp"
#include "driver/driver.hpp"

namespace hostlaunch::core {
namespace {

using driver_library::api;

std::uint64_t number(void* pointer) noexcept {
    return reinterpret_cast<std::uint64_t>(pointer);
}

constexpr object_type stream_type{[](std::uint64_t value) noexcept {
    return api().stream_destroy(reinterpret_cast<abi::stream>(value));
}};

}  // namespace

stream::stream(abi::stream borrowed) noexcept : stream_handle(borrowed_object, number(borrowed)) {}

stream::stream(abi::stream created, abi::context context, int device) noexcept
    : stream_handle(stream_type, number(created)), context_(context), device_(device) {}

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
    if (out == nullptr) destroy_for_want_of_memory(stream_type, number(created));
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

status choose_context(int device, abi::context* out) noexcept {
    if (device >= 0) return primary_context(device, out);
    if (const int code = api().ctx_get_current(out)) return {code, "cuCtxGetCurrent"};
    return *out != nullptr ? status{} : primary_context(0, out);
}

void destroy_for_want_of_memory(const object_type& type, std::uint64_t value) {
    destroy_object(type, value);
    throw std::bad_alloc();
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
    const trace::waiting mark(reinterpret_cast<std::uint64_t>(target.handle));
    const int code = api().stream_synchronize(target.handle);
    if (code == abi::error_invalid_context && is_default_stream(target.handle)) {
        return refuse(misuse::no_context);
    }
    return {code, "cuStreamSynchronize"};
}

}  // namespace hostlaunch::core
