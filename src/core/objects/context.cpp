// SPDX-License-Identifier: Apache-2.0
// Scopes for contexts and capture modes, and the questions about a stream before a launch.
#include "core/objects/context.hpp"

#include <algorithm>
#include <array>
#include <atomic>

#include "core/process/monitor.hpp"
#include "core/process/process.hpp"
#include "driver/driver.hpp"

namespace hostlaunch::core {
namespace {

using driver_library::api;

status make_current(abi::context wanted, abi::context* former, bool* changed) noexcept {
    if (const int code = api().ctx_get_current(former)) return {code, "cuCtxGetCurrent"};
    if (*former == wanted) return {};
    if (const int code = api().ctx_set_current(wanted)) return {code, "cuCtxSetCurrent"};
    *changed = true;
    return {};
}

// Retained primary contexts by device ordinal. A second thread's retain of the same device is one
// reference too many, which nobody notices: none is ever given back.
std::array<std::atomic<abi::context>, 64> primary_contexts{};

// For the life of the thread. Its destructor would find nothing to leave.
constinit relaxed_capture mode_of_monitor{relaxed_capture::unentered{}};

constinit monitor::duty relaxed_duty{
    .begin = []() noexcept { mode_of_monitor.enter(); },
    .end = []() noexcept { mode_of_monitor.leave(); },
};

}  // namespace

void add_relaxed_capture_duty() noexcept {
    monitor::add(relaxed_duty);
}

void relaxed_capture::enter() noexcept {
    changed_ = api().thread_exchange_capture_mode(&mode_) == abi::success;
}

void relaxed_capture::leave() noexcept {
    if (changed_ && !forked() && !process_ending()) api().thread_exchange_capture_mode(&mode_);
    changed_ = false;
}

current_context::current_context(abi::context wanted) noexcept
    : status_(make_current(wanted, &former_, &changed_)) {}

current_context::~current_context() {
    if (changed_) api().ctx_set_current(former_);
}

status primary_context(int device, abi::context* out) noexcept {
    const bool cacheable =
        device >= 0 && static_cast<std::size_t>(device) < primary_contexts.size();
    if (cacheable) {
        *out = primary_contexts[static_cast<std::size_t>(device)].load(std::memory_order_acquire);
        if (*out != nullptr) return {};
    }
    abi::device handle = 0;
    if (const int code = api().device_get(&handle, device)) return {code, "cuDeviceGet"};
    if (const int code = api().primary_ctx_retain(out, handle)) {
        return {code, "cuDevicePrimaryCtxRetain"};
    }
    if (cacheable) {
        primary_contexts[static_cast<std::size_t>(device)].store(*out, std::memory_order_release);
    }
    return {};
}

void keep_context(abi::context context) noexcept {
    static constinit std::array<std::atomic<abi::context>, 64> known{};
    std::atomic<abi::context>* vacant = nullptr;
    for (auto& entry : known) {
        const abi::context seen = entry.load(std::memory_order_relaxed);
        if (seen == context) return;
        if (seen == nullptr) {
            vacant = &entry;
            break;
        }
    }
    int device = 0;
    abi::context primary = nullptr;
    if (!device_of(context, &device).ok() || !primary_context(device, &primary).ok()) return;
    // Two threads may enter it twice, which costs an entry.
    if (vacant != nullptr) vacant->store(context, std::memory_order_relaxed);
}

status device_of(abi::context context, int* out) noexcept {
    const current_context scope(context);
    if (!scope.status().ok()) return scope.status();
    return {api().ctx_get_device(out), "cuCtxGetDevice"};
}

target_scope::target_scope(stream_target& target) noexcept {
    if (!is_default_stream(target.handle) || target.device < 0) return;
    const relaxed_capture mode;  // a first retain initialises the device
    status_ = primary_context(target.device, &target.context);
    if (status_.ok()) status_ = make_current(target.context, &former_, &changed_);
}

target_scope::~target_scope() {
    if (changed_) api().ctx_set_current(former_);
}

status ask_context(stream_target& target) noexcept {
    const int code = api().stream_get_ctx(target.handle, &target.context);
    if (code == abi::error_invalid_context && is_default_stream(target.handle)) {
        return refuse(misuse::no_context);
    }
    return {code, "cuStreamGetCtx"};
}

work_scope::work_scope(stream_target& target) noexcept : defaults_(target) {
    status_ = defaults_.status();
    if (status_.ok()) status_ = find_context(target);
    if (status_.ok()) {
        current_.emplace(target.context);
        status_ = current_->status();
    }
}

}  // namespace hostlaunch::core
