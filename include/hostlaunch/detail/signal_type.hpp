// SPDX-License-Identifier: Apache-2.0
// What the library must know of a kind of task that its stream does not wait for. Not for direct
// use.
#pragma once

#include "hostlaunch/detail/task_type.hpp"

namespace hostlaunch::detail {

// One constant for each kind. Its functions are called on a pool's thread for a task that has been
// claimed; none may throw.
struct signal_type {
    task_type task;  // first: it is what the record keeps
    // Instead of `run`, if the context failed first, with the driver's code: abandoned, or told.
    outcome (*fail)(void* payload, int code);
    // Tasks that need no context and call no function of users: run between these two, many at a
    // time. Null for others.
    void (*begin_many)() = nullptr;
    void (*end_many)() = nullptr;
};

}  // namespace hostlaunch::detail
