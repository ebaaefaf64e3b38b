// SPDX-License-Identifier: Apache-2.0
// The type: the methods of concurrent.futures.Future that are worth their speed, and __await__.
#include "tasks/future.hpp"

#include <structmember.h>

#include <cstddef>
#include <iterator>

#include "core/process/process.hpp"
#include "cpython/critical_section.hpp"
#include "tasks/asyncio_bridge.hpp"
#include "tasks/future_docs.hpp"
#include "tasks/future_state.hpp"
#include "tasks/future_task.hpp"

namespace hostlaunch::python {
namespace {

PyTypeObject* future_type = nullptr;
PyObject* base_result = nullptr;  // functions of concurrent.futures.Future
PyObject* base_exception = nullptr;
PyObject* cancelled_error = nullptr;  // concurrent.futures.CancelledError
PyObject* state_names[4] = {};        // as concurrent.futures names them

bool has_ended(PyObject* self) noexcept {
    return is_over(state_of_future(self));
}

PyObject* done(PyObject* self, PyObject*) {
    return PyBool_FromLong(has_ended(self) ? 1 : 0);
}

PyObject* running(PyObject* self, PyObject*) {
    return PyBool_FromLong(state_of_future(self) == future_state::running ? 1 : 0);
}

PyObject* cancelled(PyObject* self, PyObject*) {
    return PyBool_FromLong(state_of_future(self) == future_state::cancelled ? 1 : 0);
}

// Both are the base's where there is something to wait for.
PyObject* call_base(PyObject* function, PyObject* self, PyObject* const* args, Py_ssize_t count,
                    PyObject* keywords) {
    const Py_ssize_t named = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
    if (count + named > 1) {
        PyErr_SetString(PyExc_TypeError, "at most one argument is taken: timeout");
        return nullptr;
    }
    PyObject* stack[] = {self, count + named > 0 ? args[0] : nullptr};
    return in_python([&] {
        return PyObject_Vectorcall(function, stack, static_cast<std::size_t>(count) + 1, keywords);
    });
}

PyObject* result(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    const future_fields& f = fields_of(self);
    const future_state now = state_of_future(self);
    if (now == future_state::finished && !f.raised) return Py_NewRef(f.outcome);
    if (now == future_state::cancelled) {
        PyErr_SetNone(cancelled_error);
        return nullptr;
    }
    return call_base(base_result, self, args, count, keywords);
}

PyObject* exception(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    const future_fields& f = fields_of(self);
    const future_state now = state_of_future(self);
    if (now == future_state::finished) return Py_NewRef(f.raised ? f.outcome : Py_None);
    if (now == future_state::cancelled) {
        PyErr_SetNone(cancelled_error);
        return nullptr;
    }
    return call_base(base_exception, self, args, count, keywords);
}

// Whoever takes the task out of pending ends the future.
PyObject* cancel(PyObject* self, PyObject*) {
    const future_state now = state_of_future(self);
    if (now == future_state::cancelled) Py_RETURN_TRUE;
    if (now != future_state::pending) Py_RETURN_FALSE;
    const bool cancelled = cancel_task(fields_of(self).task);
    if (PyErr_Occurred() != nullptr) return nullptr;
    return PyBool_FromLong(cancelled ? 1 : 0);
}

// asyncio.wait takes what has add_done_callback for a future of its own loop, and would wait for
// ever: its callback, called on another thread, wakes nobody.
bool is_callback_of_asyncio_wait(PyObject* callback) {
    if (!PyFunction_Check(callback)) return false;
    const auto* function = reinterpret_cast<PyFunctionObject*>(callback);
    const owned module(Py_XNewRef(function->func_module));
    const owned name(Py_XNewRef(function->func_qualname));
    return module && PyUnicode_Check(module.get()) && name &&
           PyUnicode_CompareWithASCIIString(module.get(), "asyncio.tasks") == 0 &&
           PyUnicode_CompareWithASCIIString(name.get(), "_wait.<locals>._on_completion") == 0;
}

// 1: kept until the end; 0: it has come; -1 with an exception set.
int keep_callback(PyObject* self, PyObject* callback) {
    future_fields& f = fields_of(self);
    const owned fresh(f.callbacks == nullptr ? PyList_New(0) : nullptr);
    const critical_section section(self);
    if (is_over(f.state.load(std::memory_order_relaxed))) return 0;
    if (f.callbacks == nullptr) {
        if (!fresh) return -1;
        f.callbacks = Py_NewRef(fresh.get());
    }
    return PyList_Append(f.callbacks, callback) == 0 ? 1 : -1;
}

PyObject* add_done_callback(PyObject* self, PyObject* callback) {
    if (is_callback_of_asyncio_wait(callback)) {
        PyErr_SetString(PyExc_TypeError,
                        "asyncio.wait does not take a hostlaunch.Future as it is: pass "
                        "asyncio.ensure_future(future)");
        return nullptr;
    }
    const int kept = has_ended(self) ? 0 : keep_callback(self, callback);
    if (kept < 0 || (kept == 0 && !call_back(self, callback))) return nullptr;
    Py_RETURN_NONE;
}

PyObject* refuse_outcome(PyObject*, PyObject*) {
    PyErr_SetString(PyExc_RuntimeError,
                    "the outcome of a hostlaunch.Future comes from its stream and its function; "
                    "cancel() is all that others can do");
    return nullptr;
}

PyObject* await(PyObject* self) {
    return new_awaiter(self);
}

// --- what functions of concurrent.futures read

PyObject* get_state(PyObject* self, void*) {
    return Py_NewRef(state_names[static_cast<unsigned>(state_of_future(self))]);
}

PyObject* get_condition(PyObject* self, void*) {
    return condition_of_future(self);
}

PyObject* get_waiters(PyObject* self, void*) {
    future_fields& f = fields_of(self);
    const owned fresh(f.waiters == nullptr ? PyList_New(0) : nullptr);
    const critical_section section(self);
    if (f.waiters == nullptr) f.waiters = Py_XNewRef(fresh.get());
    return Py_XNewRef(f.waiters);
}

PyObject* get_outcome(PyObject* self, void* raised) {
    const future_fields& f = fields_of(self);
    const bool wanted = state_of_future(self) == future_state::finished &&
                        f.raised == (raised != nullptr) && f.outcome != nullptr;
    return Py_NewRef(wanted ? f.outcome : Py_None);
}

PyCFunction with_keywords(PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t,
                                                PyObject*)) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef methods[] = {
    {"done", &done, METH_NOARGS, future_docs::done},
    {"running", &running, METH_NOARGS, future_docs::running},
    {"cancelled", &cancelled, METH_NOARGS, future_docs::cancelled},
    {"cancel", &cancel, METH_NOARGS, future_docs::cancel},
    {"result", with_keywords(&result), METH_FASTCALL | METH_KEYWORDS, future_docs::result},
    {"exception", with_keywords(&exception), METH_FASTCALL | METH_KEYWORDS, future_docs::exception},
    {"add_done_callback", &add_done_callback, METH_O, future_docs::add_done_callback},
    {"set_result", &refuse_outcome, METH_O, future_docs::set_result},
    {"set_exception", &refuse_outcome, METH_O, future_docs::set_exception},
    {"set_running_or_notify_cancel", &refuse_outcome, METH_NOARGS, future_docs::set_running},
    {}};

PyGetSetDef attributes[] = {{"_state", &get_state, nullptr, nullptr, nullptr},
                            {"_condition", &get_condition, nullptr, nullptr, nullptr},
                            {"_waiters", &get_waiters, nullptr, nullptr, nullptr},
                            {"_result", &get_outcome, nullptr, nullptr, nullptr},
                            {"_exception", &get_outcome, nullptr, nullptr, &base_exception},
                            {}};

// --- making the type

constexpr std::size_t references[] = {
    offsetof(future_fields, outcome), offsetof(future_fields, condition),
    offsetof(future_fields, waiters), offsetof(future_fields, callbacks),
    offsetof(future_fields, awaiting)};
constexpr const char* reference_names[] = {"_0", "_1", "_2", "_3", "_4"};
constexpr std::size_t reference_count = std::size(references);

PyTypeObject* make_type(PyObject* base) {
    const Py_ssize_t base_size = reinterpret_cast<PyTypeObject*>(base)->tp_basicsize;
    constexpr Py_ssize_t alignment = alignof(future_fields);
    future_fields_offset = (base_size + alignment - 1) / alignment * alignment;
    PyMemberDef members[reference_count + 1] = {};
    for (std::size_t i = 0; i < reference_count; ++i) {
        members[i] = {reference_names[i], T_OBJECT_EX,
                      future_fields_offset + static_cast<Py_ssize_t>(references[i]), 0, nullptr};
    }
    PyType_Slot slots[] = {{Py_tp_doc, const_cast<char*>(future_docs::future)},
                           {Py_tp_methods, methods},
                           {Py_tp_getset, attributes},
                           {Py_tp_members, members},
                           {Py_am_await, reinterpret_cast<void*>(&await)},
                           {0, nullptr}};
    PyType_Spec spec = {"hostlaunch.Future",
                        static_cast<int>(future_fields_offset + sizeof(future_fields)), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    return reinterpret_cast<PyTypeObject*>(PyType_FromSpecWithBases(&spec, base));
}

// The members are for CPython's collector, which knows them without their names.
bool hide_members() {
    for (const char* name : reference_names) {
        if (PyObject_DelAttrString(reinterpret_cast<PyObject*>(future_type), name) != 0) {
            return false;
        }
    }
    return true;
}

bool init_names_of_states() {
    const char* names[] = {"PENDING", "RUNNING", "CANCELLED_AND_NOTIFIED", "FINISHED"};
    for (std::size_t i = 0; i < std::size(names); ++i) {
        state_names[i] = PyUnicode_InternFromString(names[i]);
    }
    return PyErr_Occurred() == nullptr;
}

// What a callback let through on a thread that is nobody's.
void report_on_own_thread(PyObject* future) noexcept {
    if (PyErr_Occurred() != nullptr) PyErr_WriteUnraisable(future);
}

}  // namespace

PyObject* new_future() noexcept {
    return future_type->tp_alloc(future_type, 0);
}

void set_task_of_future(PyObject* future, core::token task) noexcept {
    fields_of(future).task = task;
}

void start_future(PyObject* future) noexcept {
    const critical_section section(future);
    auto pending = future_state::pending;
    fields_of(future).state.compare_exchange_strong(pending, future_state::running);
}

void finish_future(PyObject* future, PyObject* result) noexcept {
    end_future(future, future_state::finished, result, false);
    report_on_own_thread(future);
}

void fail_future(PyObject* future, PyObject* exception) noexcept {
    end_future(future, future_state::finished, exception, true);
    report_on_own_thread(future);
}

void cancel_future(PyObject* future) noexcept {
    end_future(future, future_state::cancelled, nullptr, false);
    report_on_own_thread(future);
}

void end_future_as_cancelled(PyObject* future) noexcept {
    end_future(future, future_state::cancelled, nullptr, false);
}

bool init_future() {
    if (future_type != nullptr) return true;  // by an import that was interrupted later
    const owned futures(PyImport_ImportModule("concurrent.futures"));
    if (!futures) return false;
    const owned base(PyObject_GetAttrString(futures.get(), "Future"));
    if (!base || !init_names_of_states() || !init_future_state() || !init_asyncio_bridge()) {
        return false;
    }
    base_result = PyObject_GetAttrString(base.get(), "result");
    base_exception = PyObject_GetAttrString(base.get(), "exception");
    cancelled_error = PyObject_GetAttrString(futures.get(), "CancelledError");
    if (PyErr_Occurred() != nullptr) return false;
    PyTypeObject* made = make_type(base.get());
    if (made == nullptr) return false;
    future_type = made;
    if (hide_members()) return true;
    future_type = nullptr;
    return false;
}

bool add_future(PyObject* module) {
    return PyModule_AddObjectRef(module, "Future", reinterpret_cast<PyObject*>(future_type)) == 0;
}

}  // namespace hostlaunch::python
