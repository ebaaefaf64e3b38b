// SPDX-License-Identifier: Apache-2.0
// The end of a future: the fields, then who waits in threads, then asyncio, then the callbacks.
#include "tasks/future_state.hpp"

#include "core/process/process.hpp"
#include "cpython/critical_section.hpp"
#include "cpython/exceptions.hpp"
#include "tasks/asyncio_bridge.hpp"

namespace hostlaunch::python {
namespace {

PyObject* condition_class = nullptr;  // threading.Condition
PyObject* logger = nullptr;           // of concurrent.futures
PyObject* name_acquire = nullptr;
PyObject* name_release = nullptr;
PyObject* name_notify_all = nullptr;
PyObject* name_add_result = nullptr;
PyObject* name_add_exception = nullptr;
PyObject* name_add_cancelled = nullptr;
PyObject* name_error = nullptr;
PyObject* names_exc_info = nullptr;  // ("exc_info",)

// What is told after the end, taken out of the future with it.
struct audience {
    owned waiters;
    owned callbacks;
    owned awaiting;
};

// The end itself. 1: done; 0: it has ended before; -1: somebody may be waiting in a condition that
// is not `held`, which is put there.
int try_to_end(PyObject* future, future_state end, PyObject* outcome, bool raised, owned& held,
               audience& out) noexcept {
    future_fields& f = fields_of(future);
    const critical_section section(future);
    if (is_over(f.state.load(std::memory_order_relaxed))) return 0;
    if (f.condition != nullptr && !held) {
        held = owned(Py_NewRef(f.condition));
        return -1;
    }
    f.outcome = outcome;
    f.raised = raised;
    f.state.store(end, std::memory_order_release);  // pairs with the loads: they find the outcome
    out.waiters = owned(Py_XNewRef(f.waiters));
    out.callbacks = owned(std::exchange(f.callbacks, nullptr));
    out.awaiting = owned(std::exchange(f.awaiting, nullptr));
    return 1;
}

// A signal's handler may raise while we wait for a condition, or in it. The future ends all the
// same; the first exception is kept.
void keep_first(owned& kept) noexcept {
    owned raised(take_exception());
    if (!kept) kept = std::move(raised);
}

void call_method(PyObject* object, PyObject* name, PyObject* argument, owned& kept) noexcept {
    const owned result(in_python([&] {
        return argument == nullptr ? PyObject_CallMethodNoArgs(object, name)
                                   : PyObject_CallMethodOneArg(object, name, argument);
    }));
    if (!result) keep_first(kept);
}

void acquire(PyObject* condition, owned& kept) noexcept {
    for (;;) {
        const owned got(
            in_python([&] { return PyObject_CallMethodNoArgs(condition, name_acquire); }));
        if (got) return;
        keep_first(kept);
    }
}

// Inside the condition, as Future.set_result of the standard library does it.
void tell_threads(PyObject* future, PyObject* condition, PyObject* waiters, owned& kept) noexcept {
    const future_fields& f = fields_of(future);
    PyObject* name = f.state.load(std::memory_order_relaxed) == future_state::cancelled
                         ? name_add_cancelled
                     : f.raised ? name_add_exception
                                : name_add_result;
    const Py_ssize_t count = waiters == nullptr ? 0 : PyList_GET_SIZE(waiters);
    for (Py_ssize_t i = 0; i < count; ++i) {
        call_method(PyList_GET_ITEM(waiters, i), name, future, kept);
    }
    call_method(condition, name_notify_all, nullptr, kept);
}

void log_callback_error(PyObject* future, PyObject* raised) noexcept {
    const owned text(PyUnicode_FromString("exception calling callback for %r"));
    PyObject* stack[] = {logger, text.get(), future, raised};
    const owned logged(text ? in_python([&] {
        return PyObject_VectorcallMethod(name_error, stack, 3, names_exc_info);
    })
                            : nullptr);
    if (!logged) PyErr_WriteUnraisable(future);
}

}  // namespace

bool call_back(PyObject* future, PyObject* callback) noexcept {
    const owned result(in_python([&] { return PyObject_CallOneArg(callback, future); }));
    if (result) return true;
    if (PyErr_ExceptionMatches(PyExc_Exception) == 0) return false;
    const owned raised(take_exception());
    log_callback_error(future, raised.get());
    return true;
}

bool end_future(PyObject* future, future_state end, PyObject* outcome, bool raised) noexcept {
    owned kept;
    owned condition;
    audience told;
    int done = try_to_end(future, end, outcome, raised, condition, told);
    if (done < 0) {
        acquire(condition.get(), kept);
        done = try_to_end(future, end, outcome, raised, condition, told);
        if (done > 0) tell_threads(future, condition.get(), told.waiters.get(), kept);
        call_method(condition.get(), name_release, nullptr, kept);
    }
    if (done > 0) {
        if (told.awaiting) wake_awaiting(told.awaiting.get());
        const Py_ssize_t count = told.callbacks ? PyList_GET_SIZE(told.callbacks.get()) : 0;
        for (Py_ssize_t i = 0; i < count; ++i) {
            if (!call_back(future, PyList_GET_ITEM(told.callbacks.get(), i))) keep_first(kept);
        }
    } else {
        Py_XDECREF(outcome);
    }
    restore_exception(kept.release());
    return done > 0;
}

future_state state_of_future(PyObject* future) noexcept {
    future_fields& f = fields_of(future);
    const future_state now = f.state.load(std::memory_order_acquire);
    if (is_over(now) || !core::forked()) return now;
    // No thread is left that would end it, and a lock may be held for ever: without the condition,
    // and without a word to callbacks, which are the parent's.
    f.state.store(future_state::cancelled, std::memory_order_release);
    return future_state::cancelled;
}

PyObject* condition_of_future(PyObject* future) noexcept {
    future_fields& f = fields_of(future);
    {
        const critical_section section(future);
        if (f.condition != nullptr) return Py_NewRef(f.condition);
    }
    owned made(in_python([] { return PyObject_CallNoArgs(condition_class); }));
    if (!made) return nullptr;
    const critical_section section(future);
    if (f.condition == nullptr) f.condition = made.release();  // else another thread was first
    return Py_NewRef(f.condition);
}

bool init_future_state() {
    const owned threading(PyImport_ImportModule("threading"));
    if (!threading) return false;
    const owned logging(PyImport_ImportModule("logging"));
    if (!logging) return false;
    condition_class = PyObject_GetAttrString(threading.get(), "Condition");
    logger = PyObject_CallMethod(logging.get(), "getLogger", "s", "concurrent.futures");
    name_acquire = PyUnicode_InternFromString("acquire");
    name_release = PyUnicode_InternFromString("release");
    name_notify_all = PyUnicode_InternFromString("notify_all");
    name_add_result = PyUnicode_InternFromString("add_result");
    name_add_exception = PyUnicode_InternFromString("add_exception");
    name_add_cancelled = PyUnicode_InternFromString("add_cancelled");
    name_error = PyUnicode_InternFromString("error");
    names_exc_info = Py_BuildValue("(s)", "exc_info");
    return PyErr_Occurred() == nullptr;
}

}  // namespace hostlaunch::python
