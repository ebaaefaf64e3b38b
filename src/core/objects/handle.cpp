// SPDX-License-Identifier: Apache-2.0
// Destroying driver objects, now or by way of the release queue.
#include "core/objects/handle.hpp"

#include <new>

#include "core/objects/context.hpp"
#include "core/process/process.hpp"
#include "core/process/worker_thread.hpp"
#include "core/task/release.hpp"

namespace hostlaunch::core {
namespace {

// What travels in a record.
struct remains {
    const object_type* type;
    std::uint64_t value;
};

bool is_out_of_reach(const object_type& type, std::uint64_t value) noexcept {
    if (forked() || process_ending()) {
        // The driver is not entered any more; what is ours is freed all the same.
        if (type.forget != nullptr) type.forget(value);
        return true;
    }
    return type.left_at_exit && exiting();
}

int destroy(const object_type& type, std::uint64_t value) noexcept {
    const relaxed_capture mode;
    return type.destroy(value);
}

void destroy_remains(void* payload) noexcept {
    const remains r = *std::launder(static_cast<remains*>(payload));
    if (!is_out_of_reach(*r.type, r.value)) destroy(*r.type, r.value);
}

constexpr task_type remains_type{
    .run = nullptr, .destroy = &destroy_remains, .name = "driver object", .enters_driver = true};

// Without memory the object is leaked, which harms nobody.
void leave_behind(const object_type& type, std::uint64_t value) noexcept {
    record* r = acquire_remains(remains_type);
    if (r == nullptr) return;
    ::new (r->payload) remains{&type, value};
    push_remains(*r);
}

}  // namespace

void destroy_object(const object_type& type, std::uint64_t value) noexcept {
    if (type.destroy == nullptr || is_out_of_reach(type, value)) return;
    if (in_host_function() || on_worker_thread() ||
        destroy(type, value) == abi::error_not_permitted) {
        leave_behind(type, value);
    }
}

}  // namespace hostlaunch::core
