// SPDX-License-Identifier: Apache-2.0
// The types of Python's tasks: from the trampoline's call to Python running, and how they are
// released.
#include "tasks/payload.hpp"

#include <cstdlib>
#include <utility>

#include "core/task/outcomes.hpp"
#include "core/task/release.hpp"
#include "core/task/trace.hpp"
#include "cpython/attach.hpp"
#include "cpython/exceptions.hpp"
#include "cpython/references.hpp"
#include "tasks/names.hpp"

namespace hostlaunch::python {
namespace {

using core::outcome;
using core::record;
using core::task_type;

payload& payload_in(void* storage) noexcept {
    return *std::launder(static_cast<payload*>(storage));
}

// Drops all that a payload holds. requires: attached, on the main thread or before any launch. Runs
// finalizers, which may park this thread.
void destroy(void* storage) noexcept {
    const payload p = payload_in(storage);
    std::free(p.copy);
    in_python([&p] {
        Py_XDECREF(p.context);
        Py_XDECREF(p.result);
        Py_XDECREF(p.exception);
        Py_XDECREF(p.fn);
    });
}

constexpr task_type left_behind_type{nullptr, &destroy, "what a run in a graph left"};

// Reports the current exception with object = fn and keeps it for release on the main thread.
void report(const payload& p, payload& left) {
    PyObject* exception = take_exception();
    left.exception = reference_for_others(exception);
    restore_exception(exception);
    PyErr_WriteUnraisable(p.fn);
}

// Calls put what must be released on the main thread into `left`: for a launch that is its own
// payload, for a run of a graph's function a payload of that run.
outcome call_callable(const payload& p, payload& left) {
    PyObject* result = PyObject_CallNoArgs(p.fn);
    if (result == nullptr) {
        report(p, left);
        return outcome::raised;
    }
    if (result == Py_None) {
        Py_DECREF(result);
    } else {
        left.result = share_reference(result);
    }
    return outcome::ran;
}

// The thunk does its own PyGILState_Ensure, which finds this thread attached, and reports its own
// exceptions through ctypes.
outcome call_thunk(const payload& p, payload&) {
    p.code(p.user_data);
    return outcome::ran;
}

// A call that is marked around: attached, so that what is seen before it is the wait for the GIL.
template <auto Call>
outcome marked(const payload& p, payload& left) {
    const bool known = core::trace::is_task_named();
    core::trace::begin_run(known ? core::no_name : name_of_payload(p));
    const outcome how = Call(p, left);
    core::trace::end_run(how == outcome::raised);
    return how;
}

// Straight-line on purpose: no destructor here may detach, since CPython can end the thread by
// unwinding through this frame while it is not attached. The trampoline parks a thread that is.
template <auto Call>
outcome run(void* storage) {
    attachment a = attach();
    payload& p = payload_in(storage);
    const outcome how = Call(p, p);
    p.context = share_reference(take_dirty_context(a));
    // Before the detach: a main thread that waits for the GIL then finds the request at once.
    core::finish(core::record::of(storage), how);
    detach(a);
    return outcome::told;
}

// Hands what a run left to the main thread. Without memory for that it is leaked: to drop it here
// would run finalizers on the driver's thread.
void leave_behind(const payload& left) {
    if (left.result == nullptr && left.exception == nullptr && left.context == nullptr) return;
    record* r = core::acquire_left_behind(left_behind_type);
    if (r == nullptr) return;
    new (r->payload) payload(left);
    core::push_left_behind(*r);
}

// One of any number of runs; graphs hold the record meanwhile. Straight-line, as `run` is.
template <auto Call>
outcome run_in_graph(void* storage) {
    attachment a = attach();
    payload left;
    const outcome how = Call(payload_in(storage), left);
    left.context = share_reference(take_dirty_context(a));
    core::count_graph_run(how);
    leave_behind(left);
    detach(a);
    return outcome::told;
}

outcome run_code_in_graph(void* storage) {
    const payload& p = payload_in(storage);
    p.code(p.user_data);
    return outcome::ran;
}

constexpr task_type callable_type{.run = &run<call_callable>,
                                  .destroy = &destroy,
                                  .name = "Python callable",
                                  .run_watched = &run<marked<call_callable>>};
constexpr task_type thunk_type{.run = &run<call_thunk>,
                               .destroy = &destroy,
                               .name = "ctypes thunk",
                               .run_watched = &run<marked<call_thunk>>};
constexpr task_type native_type{nullptr, &destroy, "native code"};
constexpr task_type callable_in_graph_type{.run = &run_in_graph<call_callable>,
                                           .destroy = &destroy,
                                           .name = "Python callable in a graph",
                                           .run_watched = &run_in_graph<marked<call_callable>>};
constexpr task_type thunk_in_graph_type{.run = &run_in_graph<call_thunk>,
                                        .destroy = &destroy,
                                        .name = "ctypes thunk in a graph",
                                        .run_watched = &run_in_graph<marked<call_thunk>>};
constexpr task_type code_in_graph_type{&run_code_in_graph, &destroy, "native code in a graph"};

}  // namespace

const task_type& type_of(function_kind kind) noexcept {
    switch (kind) {
        case function_kind::callable:
            return callable_type;
        case function_kind::thunk:
            return thunk_type;
        default:
            return native_type;
    }
}

const task_type& type_in_graph(function_kind kind) noexcept {
    switch (kind) {
        case function_kind::callable:
            return callable_in_graph_type;
        case function_kind::thunk:
            return thunk_in_graph_type;
        default:
            return code_in_graph_type;
    }
}

payload& fill_payload(record& r, const task_type& type, PyObject* fn, function_argument& function) {
    r.type = &type;
    auto* p = new (r.payload) payload;
    p->fn = function.kept ? share_reference(function.kept.release()) : reference_for_others(fn);
    p->code = function.code;
    p->user_data = function.user_data;
    p->copy = std::exchange(function.copy, nullptr);
    return *p;
}

core::name_id name_of_payload(const payload& p) noexcept {
    return name_of_function(p.fn, reinterpret_cast<const void*>(p.code));
}

bool has_payload(const record& r) noexcept {
    return r.type == &callable_type || r.type == &thunk_type || r.type == &native_type;
}

bool drops_counts_only(const record& r) noexcept {
    if (r.type->completed != nullptr) return false;  // a future's
    const payload& p = payload_of(const_cast<record&>(r));
    return has_gil && p.context == nullptr && p.result == nullptr && p.exception == nullptr &&
           Py_REFCNT(p.fn) > 1;
}

}  // namespace hostlaunch::python
