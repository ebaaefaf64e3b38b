// SPDX-License-Identifier: Apache-2.0
// Destroying driver objects, now or later.
#include "core/handle.hpp"

#include <atomic>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "core/abandoned_capture.hpp"
#include "core/context.hpp"
#include "core/outcomes.hpp"
#include "core/process.hpp"
#include "driver/driver.hpp"

namespace hostlaunch::core {
namespace {

using entry = std::pair<object_kind, std::uint64_t>;

struct deferred_list {
    std::mutex mutex;  // guards `entries`; never held across a driver call
    std::vector<entry> entries;
    // Whether there are entries. Set and cleared under the mutex, so relaxed where it is cleared:
    // run_deferred has the entries that it speaks of, and a thread that still finds it set finds
    // none. Sequentially consistent in defer and has_deferred: a thread that sets it and then finds
    // a release asked for relies on that release finding it.
    std::atomic<bool> any{false};
};

deferred_list& deferred() {
    static deferred_list& list = *new deferred_list;
    return list;
}

int destroy(object_kind kind, std::uint64_t value) noexcept {
    const driver_library::table& api = driver_library::api();
    const relaxed_capture mode;
    switch (kind) {
        case object_kind::stream:
            return api.stream_destroy(reinterpret_cast<abi::stream>(value));
        case object_kind::event:
            return api.event_destroy(reinterpret_cast<abi::event>(value));
        case object_kind::device_memory:
            return api.mem_free(value);
        case object_kind::host_memory:
            return api.mem_free_host(reinterpret_cast<void*>(value));
        case object_kind::graph:
            return api.graph_destroy(reinterpret_cast<abi::graph>(value));
        case object_kind::graph_exec:
            return api.graph_exec_destroy(reinterpret_cast<abi::graph_exec>(value));
        case object_kind::capture:
            return end_abandoned(value);
        case object_kind::none:
            break;
    }
    return abi::success;
}

void defer(object_kind kind, std::uint64_t value) noexcept {
    deferred_list& list = deferred();
    try {
        const std::lock_guard lock(list.mutex);
        list.entries.emplace_back(kind, value);
        list.any.store(true);
    } catch (const std::bad_alloc&) {
        return;  // out of memory: the object is leaked, which harms nobody
    }
    request_release();
}

// A free waits for all work of its context. Once exit has begun that may be a function that never
// ends, and the memory is left to the process.
bool is_left_at_exit(object_kind kind) noexcept {
    return exiting() && (kind == object_kind::device_memory || kind == object_kind::host_memory);
}

}  // namespace

void destroy_object(object_kind kind, std::uint64_t value) noexcept {
    if (kind == object_kind::none) return;
    if (forked() || process_ending()) {
        // The driver is not entered any more; what is ours is freed all the same.
        if (kind == object_kind::capture) forget_abandoned(value);
        return;
    }
    if (is_left_at_exit(kind)) return;
    if (in_host_function() || destroy(kind, value) == abi::error_not_permitted) defer(kind, value);
}

bool has_deferred() noexcept {
    return deferred().any.load();
}

void run_deferred() noexcept {
    if (forked() || process_ending()) return;
    deferred_list& list = deferred();
    if (!has_deferred()) return;
    std::vector<entry> taken;
    {
        const std::lock_guard lock(list.mutex);
        taken.swap(list.entries);
        list.any.store(false, std::memory_order_relaxed);
    }
    for (const auto& [kind, value] : taken) {
        if (!is_left_at_exit(kind)) destroy(kind, value);
    }
}

}  // namespace hostlaunch::core
