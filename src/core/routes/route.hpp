// SPDX-License-Identifier: Apache-2.0
// A route: how a task gets from its stream to a thread, and what lets the stream go on.
//
// One constant for each, in a file of its own; routes.cpp lists them. Records in a route are ended
// one by one, since one walk of the pool finds those of all routes.
#pragma once

#include "core/objects/context.hpp"
#include "core/status.hpp"
#include "core/task/record.hpp"

namespace hostlaunch::core {

// The code of a native task: what the driver itself calls.
struct native_code {
    abi::host_fn fn = nullptr;
    void* user_data = nullptr;
};

struct route {
    const char* name;

    // Enqueues the task of a filled record on a stream that is in use. On failure nothing reached
    // the driver, or it refused, and the record with its payload is the caller's as before. On
    // success it belongs to the route; it may have ended already. `code`: for native tasks. Enters
    // the driver: without the GIL and without any lock.
    status (*launch)(stream_target target, record& r, const native_code& code) noexcept;

    // Ends one pending task of a context that has failed; true if it awaits release now. Null: the
    // route's look finds out by itself.
    bool (*on_context_failure)(record& r, std::uint64_t generation) noexcept;

    // Drops one task that is pending or running once exit has begun; false if it has moved on.
    bool (*on_exit)(record& r, std::uint64_t generation, state now) noexcept;

    // What the monitor does for it, or null; true if a task has ended. `wait`: where another thread
    // is looking, wait (bounded) and look again, so that what had run before the call is seen.
    // Enters the driver, as above.
    bool (*look)(bool wait) noexcept = nullptr;

    // Ends what the route has besides records, before those are dropped; or null.
    void (*close)() noexcept = nullptr;

    bool awaited_at_exit = false;  // exit waits for its pending tasks, since it cannot stop them
};

}  // namespace hostlaunch::core
