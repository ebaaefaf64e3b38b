// SPDX-License-Identifier: Apache-2.0
// Ends captures that were given up.
#include "core/graphs/capture.hpp"

#include "driver/driver.hpp"

namespace hostlaunch::core {
namespace {

using driver_library::api;

// An invalidated capture tells no id: while it is on the stream no other can be.
bool is_in_progress(const abandoned_capture& c) noexcept {
    auto state = abi::capture_status::none;
    std::uint64_t id = 0;
    const int code = api().stream_get_capture_info(c.target.handle, &state, &id, nullptr, nullptr,
                                                   nullptr, nullptr);
    if (code != abi::success) return false;
    return state == abi::capture_status::invalidated ||
           (state == abi::capture_status::active && id == c.id);
}

int end_abandoned(std::uint64_t value) noexcept {
    abi::context ignored = nullptr;
    if (api().ctx_get_current(&ignored) == abi::error_not_permitted) {
        return abi::error_not_permitted;
    }
    const std::unique_ptr<abandoned_capture> given(reinterpret_cast<abandoned_capture*>(value));
    const target_scope scope(given->target);
    if (is_in_progress(*given)) {
        abi::graph graph = nullptr;
        api().stream_end_capture(given->target.handle, &graph);
        if (graph != nullptr) api().graph_destroy(graph);
    }
    if (given->owner != nullptr) given->owner->guard().leave();
    return abi::success;
}

void forget_abandoned(std::uint64_t value) noexcept {
    delete reinterpret_cast<abandoned_capture*>(value);
}

}  // namespace

constinit const object_type abandoned_capture_type{.destroy = &end_abandoned,
                                                   .forget = &forget_abandoned};

}  // namespace hostlaunch::core
