// SPDX-License-Identifier: Apache-2.0
// Events over the driver table.
#include "core/objects/event.hpp"

#include <new>

#include "core/objects/stream.hpp"
#include "core/objects/waits.hpp"
#include "driver/driver.hpp"

namespace hostlaunch::core {
namespace {

using driver_library::api;

std::uint64_t number(void* pointer) noexcept {
    return reinterpret_cast<std::uint64_t>(pointer);
}

constexpr object_type event_type{[](std::uint64_t value) noexcept {
    return api().event_destroy(reinterpret_cast<abi::event>(value));
}};

}  // namespace

event::event(abi::event created) noexcept : handle_(event_type, number(created)) {}

abi::event event::raw() const noexcept {
    return reinterpret_cast<abi::event>(handle_.value());
}

status event::create(const stream_target& target, std::unique_ptr<event>& out, unsigned flags) {
    flags |= abi::event_disable_timing;
    if (blocking_by_default()) flags |= abi::event_blocking_sync;
    const relaxed_capture mode;
    const current_context scope(target.context);
    if (!scope.status().ok()) return scope.status();
    abi::event created = nullptr;
    if (const int code = api().event_create(&created, flags)) {
        return {code, "cuEventCreate"};
    }
    out.reset(new (std::nothrow) event(created));
    if (out == nullptr) destroy_for_want_of_memory(event_type, number(created));
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

status record_event(stream_target target, event& e) noexcept {
    const work_scope scope(target);
    if (!scope.status().ok()) return scope.status();
    return {api().event_record(e.raw(), target.handle), "cuEventRecord"};
}

status record_new_event(stream_target target, std::unique_ptr<event>& out, unsigned flags) {
    const work_scope scope(target);
    if (!scope.status().ok()) return scope.status();
    std::unique_ptr<event> made;
    if (const status s = event::create(target, made, flags); !s.ok()) return s;
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

}  // namespace hostlaunch::core
