// SPDX-License-Identifier: Apache-2.0
// The trampolines: from the driver's call to Python running, and to the release list.
#include "tasks/payload.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <utility>

#include "core/graph_function.hpp"
#include "core/outcomes.hpp"
#include "core/pool.hpp"
#include "core/process.hpp"
#include "cpython/attach.hpp"
#include "cpython/exceptions.hpp"
#include "cpython/references.hpp"

namespace hostlaunch::python {
namespace {

using core::record;
using core::state;

// Reports the current exception with object = fn and keeps it for release on the main thread.
void report(const payload& p, payload& left) {
    PyObject* exception = take_exception();
    left.exception = reference_for_others(exception);
    restore_exception(exception);
    PyErr_WriteUnraisable(p.fn);
}

// Calls put what must be released on the main thread into `left`: for a launch that is its own
// payload, for a run of a graph's function a payload of that run.
state call_callable(const payload& p, payload& left) {
    PyObject* result = PyObject_CallNoArgs(p.fn);
    if (result == nullptr) {
        report(p, left);
        return state::raised;
    }
    if (result == Py_None) {
        Py_DECREF(result);
    } else {
        left.result = hand_over(result);
    }
    return state::ran;
}

// The thunk does its own PyGILState_Ensure, which finds this thread attached, and reports its own
// exceptions through ctypes.
state call_thunk(const payload& p, payload&) {
    p.code(p.user_data);
    return state::ran;
}

// Straight-line on purpose: no destructor here may detach, since CPython can end the thread by
// unwinding through this frame while it is not attached.
template <class Call>
void run(record& r, Call call) {
    attachment a = attach();
    payload& p = payload_of(r);
    state outcome = state::ran;
    {
        const core::host_function_scope inside;
        outcome = call(p, p);
        p.context = hand_over(take_dirty_context(a));
    }
    // Before the detach: a main thread that waits for the GIL then finds the request at once.
    if (core::finish(r, outcome)) core::request_release();
    detach(a);
}

// Hands what a run left to the main thread. Without memory for that it is leaked: to drop it here
// would run finalizers on the driver's thread.
void leave_behind(const payload& left) {
    if (left.result == nullptr && left.exception == nullptr && left.context == nullptr) return;
    record* r = core::acquire_left_behind();
    if (r == nullptr) return;
    new (r->payload) payload(left);
    core::push_left_behind(*r);
}

// One of any number of runs; graphs hold the record meanwhile. Straight-line, as `run` is.
template <class Call>
void run_for_graph(record& r, Call call) {
    attachment a = attach();
    payload left;
    state outcome = state::ran;
    {
        const core::host_function_scope inside;
        outcome = call(payload_of(r), left);
        left.context = hand_over(take_dirty_context(a));
    }
    core::count_graph_run(outcome);
    leave_behind(left);
    detach(a);
}

// Run(record) inside the gate, if `take` finds a record for the token.
template <class Take, class Run>
void enter_and_run(void* token, Take take, Run run) {
    if (!gate().enter()) return;  // the interpreter ends: a launch stays pending and is dropped
    try {
        record* r = take(reinterpret_cast<core::token>(token));
        if (r != nullptr) run(*r);
    } catch (::abi::__forced_unwind&) {
        park();
    }
    gate().leave();
    core::end_in_forked_child();
}

record* claim(core::token t) {
    return core::record_pool::instance().claim(t);
}

}  // namespace

extern "C" void hostlaunch_python_call(void* token) {
    enter_and_run(token, claim, [](record& r) { run(r, call_callable); });
}
extern "C" void hostlaunch_python_thunk(void* token) {
    enter_and_run(token, claim, [](record& r) { run(r, call_thunk); });
}
extern "C" void hostlaunch_python_graph_call(void* token) {
    enter_and_run(token, core::held_by_graphs, [](record& r) { run_for_graph(r, call_callable); });
}
extern "C" void hostlaunch_python_graph_thunk(void* token) {
    enter_and_run(token, core::held_by_graphs, [](record& r) { run_for_graph(r, call_thunk); });
}

extern "C" void hostlaunch_python_graph_code(void* token) {
    enter_and_run(token, core::held_by_graphs, [](record& r) {
        const core::host_function_scope inside;
        const payload& p = payload_of(r);
        p.code(p.user_data);
        core::count_graph_run(state::ran);
    });
}

payload& fill_payload(core::record& r, PyObject* fn, function_argument& function) {
    auto* p = new (r.payload) payload;
    p->fn = function.kept ? hand_over(function.kept.release()) : reference_for_others(fn);
    p->code = function.code;
    p->user_data = function.user_data;
    p->copy = std::exchange(function.copy, nullptr);
    return *p;
}

void destroy_payload(payload& p) {
    std::free(p.copy);
    in_python([&p] {
        Py_XDECREF(p.context);
        Py_XDECREF(p.result);
        Py_XDECREF(p.exception);
        Py_XDECREF(p.fn);
    });
}

}  // namespace hostlaunch::python
