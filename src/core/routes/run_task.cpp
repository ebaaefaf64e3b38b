// SPDX-License-Identifier: Apache-2.0
// From a signal that has told to the task's own code.
#include "core/routes/run_task.hpp"

#include "core/process/gate.hpp"
#include "core/process/process.hpp"
#include "core/task/outcomes.hpp"
#include "driver/driver.hpp"

namespace hostlaunch::core {
namespace {

// The context stays the thread's: a function may have changed it, so it is set before each.
int make_current(const record& r) noexcept {
    return driver_library::api().ctx_set_current(r.context.load(std::memory_order_relaxed));
}

void run_claimed(record& r, const ready_task& t) {
    const bool needs_context = t.type->begin_many == nullptr && t.code == abi::success;
    const int code = needs_context ? make_current(r) : t.code;
    const outcome how =
        code == abi::success ? t.type->task.run(r.payload) : t.type->fail(r.payload, code);
    if (t.type->task.destroy == nullptr) {
        finish_in_place_slow(r, how);
    } else if (how != outcome::told) {
        finish(r, how);
    }
}

}  // namespace

// Straight-line within the gate, as CPython may end a thread by unwinding: the types' own functions
// let nothing out.
void run_tasks(const ready_task* tasks, std::size_t count) {
    if (!gate().enter()) return;  // the process ends: they stay pending and are dropped
    const signal_type& type = *tasks->type;
    if (type.begin_many != nullptr) type.begin_many();
    for (std::size_t i = 0; i < count; ++i) {
        record* r = record_pool::instance().claim(tasks[i].task);
        if (r != nullptr) run_claimed(*r, tasks[i]);
    }
    if (type.end_many != nullptr) type.end_many();
    gate().leave();
    end_in_forked_child();
}

}  // namespace hostlaunch::core
