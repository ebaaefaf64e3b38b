// SPDX-License-Identifier: Apache-2.0
// The outcomes of a future's task: ran, raised, its context failed, cancelled, dropped.
//
// Each ends the future in `completed`, before the record is pushed for release: whoever is told
// finds the outcome, and what the task held is released afterwards, on the main thread.
#include "tasks/future_task.hpp"

#include <cxxabi.h>

#include <optional>
#include <utility>

#include "arguments/errors.hpp"
#include "core/process/gate.hpp"
#include "core/task/outcomes.hpp"
#include "core/task/pool_of_records.hpp"
#include "cpython/attach.hpp"
#include "cpython/exceptions.hpp"
#include "cpython/references.hpp"
#include "tasks/asyncio_bridge.hpp"
#include "tasks/future.hpp"
#include "tasks/release.hpp"

namespace hostlaunch::python {
namespace {

using core::outcome;
using core::record;

future_task& task_in(void* payload) noexcept {
    return *std::launder(static_cast<future_task*>(payload));
}

// requires: attached, on the main thread or before any launch. Runs finalizers.
void destroy(void* payload) noexcept {
    const future_task t = task_in(payload);
    in_python([&t] {
        Py_XDECREF(t.context);
        Py_XDECREF(t.outcome);
        Py_XDECREF(t.kwargs);
        Py_XDECREF(t.args);
        Py_XDECREF(t.fn);
        Py_XDECREF(t.future);
    });
}

// Ends the future. requires: attached.
void completed(void* payload, outcome how) noexcept {
    future_task& t = task_in(payload);
    PyObject* value = std::exchange(t.outcome, nullptr);
    switch (how) {
        case outcome::ran:
            return finish_future(t.future, value);
        case outcome::raised:
        case outcome::abandoned:
            return fail_future(t.future, value);
        case outcome::cancelled:
            return end_future_as_cancelled(t.future);
        default:
            return cancel_future(t.future);
    }
}

// The exception for a driver result. Detaches meanwhile: the words for it come from the driver.
PyObject* failure(int code) {
    set_error(core::status{code, nullptr},
              "the context of the stream failed before the stream got there");
    return take_exception();
}

// f(attachment) within an attach. Straight-line on purpose, as for host functions: no destructor
// here may detach.
template <class F>
void attached(F f) {
    try {
        attachment a = attach();
        f(a);
        detach(a);
    } catch (::abi::__forced_unwind&) {
        core::park();
    }
}

// --- a task with a function

outcome call(future_task& t) {
    start_future(t.future);
    t.outcome = share_reference(PyObject_Call(t.fn, t.args, t.kwargs));
    if (t.outcome != nullptr) return outcome::ran;
    t.outcome = share_reference(take_exception());
    return outcome::raised;
}

outcome run_call(void* payload) {
    attached([payload](attachment& a) {
        future_task& t = task_in(payload);
        const outcome how = call(t);
        t.context = share_reference(take_dirty_context(a));
        core::finish(record::of(payload), how);
    });
    return outcome::told;
}

outcome fail_call(void* payload, int code) {
    attached([payload, code](attachment&) {
        task_in(payload).outcome = failure(code);
        core::finish(record::of(payload), outcome::abandoned);
    });
    return outcome::told;
}

// --- many tasks without one

thread_local attachment many_attached;
thread_local std::optional<wake_together> many_woken;

void begin_many() {
    try {
        many_attached = attach();
        many_woken.emplace();
    } catch (::abi::__forced_unwind&) {
        core::park();
    }
}

void end_many() {
    many_woken.reset();
    try {
        detach(many_attached);
    } catch (::abi::__forced_unwind&) {
        core::park();
    }
}

outcome run_event(void* payload) {
    task_in(payload).outcome = Py_NewRef(task_in(payload).args);
    return outcome::ran;
}

outcome fail_event(void* payload, int code) {
    task_in(payload).outcome = failure(code);
    return outcome::abandoned;
}

}  // namespace

constinit const hostlaunch::detail::signal_type call_for_future{
    {&run_call, &destroy, "submitted Python callable", &completed}, &fail_call};
constinit const hostlaunch::detail::signal_type event_for_future{
    {&run_event, &destroy, "work_done", &completed}, &fail_event, &begin_many, &end_many};

bool cancel_task(core::token task) noexcept {
    record* r = core::record_pool::instance().claim(task);
    if (r == nullptr) return false;
    core::finish(*r, outcome::cancelled);
    release_ended();
    return true;
}

}  // namespace hostlaunch::python
