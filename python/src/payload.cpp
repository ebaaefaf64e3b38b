// SPDX-License-Identifier: Apache-2.0
// The trampolines: from the driver's call to Python running, and to the release list.
#include "payload.hpp"

#include <cxxabi.h>

#include <cstdlib>

#include "attach.hpp"
#include "core/outcomes.hpp"
#include "core/pool.hpp"
#include "core/process.hpp"

namespace hostlaunch::python {
namespace {

using core::record;
using core::state;

// Reports the current exception with object = fn and keeps it for release on the main thread.
void report(payload& p) {
    p.exception = take_exception();
    restore_exception(Py_NewRef(p.exception));
    PyErr_WriteUnraisable(p.fn);
}

state call_callable(payload& p) {
    PyObject* result = PyObject_CallNoArgs(p.fn);
    if (result == nullptr) {
        report(p);
        return state::raised;
    }
    if (result == Py_None) {
        Py_DECREF(result);
    } else {
        p.result = result;
    }
    return state::ran;
}

// The thunk does its own PyGILState_Ensure, which finds this thread attached, and reports its own
// exceptions through ctypes.
state call_thunk(payload& p) {
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
        outcome = call(p);
        p.context = take_dirty_context(a);
    }
    // Before the detach: a main thread that waits for the GIL then finds the request at once.
    if (core::finish(r, outcome)) core::request_release();
    detach(a);
}

template <class Call>
void enter_and_run(void* user_data, Call call) {
    if (!gate().enter()) return;  // the interpreter ends: the launch stays pending and is dropped
    try {
        record* r = core::record_pool::instance().claim(reinterpret_cast<core::token>(user_data));
        if (r != nullptr) run(*r, call);
    } catch (::abi::__forced_unwind&) {
        park();
    }
    gate().leave();
}

}  // namespace

extern "C" void hostlaunch_python_call(void* token) {
    enter_and_run(token, call_callable);
}
extern "C" void hostlaunch_python_thunk(void* token) {
    enter_and_run(token, call_thunk);
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
