// SPDX-License-Identifier: Apache-2.0
// The awaiter: what a task of asyncio iterates over while it awaits a future.
//
// It yields a future of the task's own loop, which the loop's hub completes, and then takes the
// outcome from our future itself. A task that is cancelled cancels the loop's future first and then
// throws into the awaiter, which passes it on.
#include "tasks/asyncio_bridge.hpp"

#include <array>

#include "cpython/critical_section.hpp"
#include "cpython/exceptions.hpp"
#include "tasks/future_state.hpp"
#include "tasks/loop_hub.hpp"

namespace hostlaunch::python {
namespace {

enum class phase : unsigned char { fresh, waiting, over };

struct awaiter {
    hub_entry entry;  // first: the hub's list is made of it
    PyObject* future;
    PyObject* hub;  // null: asyncio's own way, for loops that read no files
    phase now;
};

awaiter& as_awaiter(PyObject* object) noexcept {
    return *reinterpret_cast<awaiter*>(object);
}

PyTypeObject* awaiter_type = nullptr;
PyObject* name_create_future = nullptr;
PyObject* name_cancelled = nullptr;
PyObject* name_cancel = nullptr;

// What asyncio offers; looked up when something is awaited, since importing it takes long.
struct asyncio_names {
    PyObject* get_running_loop = nullptr;
    PyObject* wrap_future = nullptr;
    PyObject* cancelled_error = nullptr;
};

// Null with an exception set. Kept to process end; two threads at once look them up twice.
const asyncio_names* asyncio() {
    static std::atomic<asyncio_names*> known{nullptr};
    if (asyncio_names* names = known.load(std::memory_order_acquire)) return names;
    const owned module(in_python([] { return PyImport_ImportModule("asyncio"); }));
    if (!module) return nullptr;
    auto* names = new (std::nothrow) asyncio_names;
    if (names == nullptr) return reinterpret_cast<asyncio_names*>(PyErr_NoMemory());
    names->get_running_loop = PyObject_GetAttrString(module.get(), "get_running_loop");
    names->wrap_future = PyObject_GetAttrString(module.get(), "wrap_future");
    names->cancelled_error = PyObject_GetAttrString(module.get(), "CancelledError");
    if (PyErr_Occurred() != nullptr) return nullptr;
    known.store(names, std::memory_order_release);
    return names;
}

// --- from the future to the loop

thread_local struct {
    bool together = false;
    unsigned count = 0;
    std::array<loop_hub*, 8> hubs{};
} batch;

void wake_now_or_together(loop_hub& hub) noexcept {
    if (batch.together && batch.count < batch.hubs.size()) {
        Py_INCREF(&hub);
        batch.hubs[batch.count++] = &hub;
    } else {
        wake(hub);
    }
}

void wake_one(PyObject* object) noexcept {
    awaiter& a = as_awaiter(object);
    if (a.hub == nullptr) return;
    auto& hub = *reinterpret_cast<loop_hub*>(a.hub);
    if (deliver(hub, a.entry)) wake_now_or_together(hub);
}

// --- the iterator

// Ends the iteration with a value: null, with StopIteration.
PyObject* stop_with(PyObject* value) {
    // Not by PyErr_SetObject alone, which takes tuples and exceptions apart.
    const owned stop(PyObject_CallOneArg(PyExc_StopIteration, value));
    if (stop) PyErr_SetObject(PyExc_StopIteration, stop.get());
    return nullptr;
}

// What nothing can raise out of an iterator without ending it.
PyObject* refuse_stop_iteration(PyObject* raised) {
    PyErr_SetString(PyExc_RuntimeError, "the function raised StopIteration");
    PyObject* error = take_exception();
    PyException_SetCause(error, Py_NewRef(raised));
    restore_exception(error);
    return nullptr;
}

// requires: the future has ended.
PyObject* stop_with_outcome(PyObject* future, future_state end) {
    const future_fields& f = fields_of(future);
    if (end == future_state::cancelled) {
        const asyncio_names* names = asyncio();
        if (names != nullptr) PyErr_SetNone(names->cancelled_error);
        return nullptr;
    }
    const owned outcome(Py_NewRef(f.outcome == nullptr ? Py_None : f.outcome));
    if (!f.raised) return stop_with(outcome.get());
    if (PyErr_GivenExceptionMatches(outcome.get(), PyExc_StopIteration) != 0) {
        return refuse_stop_iteration(outcome.get());
    }
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(outcome.get())), outcome.get());
    return nullptr;
}

// Makes the loop's future, and finds the hub that completes it. False with an exception set.
bool enter_loop(awaiter& a) {
    const asyncio_names* names = asyncio();
    if (names == nullptr) return false;
    const owned loop(PyObject_CallNoArgs(names->get_running_loop));
    if (!loop) return false;
    a.hub = hub_of(loop.get());
    if (a.hub != nullptr) {
        a.entry.loop_future = PyObject_CallMethodNoArgs(loop.get(), name_create_future);
        return a.entry.loop_future != nullptr;
    }
    if (PyErr_ExceptionMatches(PyExc_NotImplementedError) == 0) return false;
    PyErr_Clear();
    a.entry.loop_future = PyObject_CallOneArg(names->wrap_future, a.future);
    return a.entry.loop_future != nullptr;
}

// Adds an awaiter to a future that has not ended: 1; 0: it has; -1 with an exception set.
int await_end(PyObject* future, PyObject* self) {
    future_fields& f = fields_of(future);
    const owned several(PyList_New(0));
    if (!several) return -1;
    const critical_section section(future);
    if (is_over(f.state.load(std::memory_order_relaxed))) return 0;
    if (f.awaiting == nullptr) {
        f.awaiting = Py_NewRef(self);
        return 1;
    }
    if (PyList_CheckExact(f.awaiting)) return PyList_Append(f.awaiting, self) == 0 ? 1 : -1;
    if (PyList_Append(several.get(), f.awaiting) != 0) return -1;
    if (PyList_Append(several.get(), self) != 0) return -1;
    Py_SETREF(f.awaiting, Py_NewRef(several.get()));
    return 1;
}

// Yields the loop's future as `await` of that would.
PyObject* yield_loop_future(PyObject* loop_future) {
    const PyAsyncMethods* async = Py_TYPE(loop_future)->tp_as_async;
    if (async == nullptr || async->am_await == nullptr) {
        PyErr_Format(PyExc_TypeError, "the event loop made a future that cannot be awaited: %R",
                     loop_future);
        return nullptr;
    }
    const owned iterator(async->am_await(loop_future));
    return iterator ? PyIter_Next(iterator.get()) : nullptr;
}

PyObject* begin(awaiter& a) {
    if (!enter_loop(a)) return nullptr;
    const int added = await_end(a.future, reinterpret_cast<PyObject*>(&a));
    if (added < 0) return nullptr;
    if (added == 0) {
        a.now = phase::over;
        return stop_with_outcome(a.future, state_of_future(a.future));
    }
    a.now = phase::waiting;
    return yield_loop_future(a.entry.loop_future);
}

PyObject* next(PyObject* self) {
    awaiter& a = as_awaiter(self);
    const future_state now = state_of_future(a.future);
    if (a.now == phase::over) {
        PyErr_SetString(PyExc_RuntimeError, "the future was awaited before in this place");
        return nullptr;
    }
    if (a.now == phase::fresh && !is_over(now)) return in_python([&a] { return begin(a); });
    a.now = phase::over;
    if (is_over(now)) return stop_with_outcome(a.future, now);
    PyErr_SetString(PyExc_RuntimeError, "a task that awaits a future went on before its end");
    return nullptr;
}

PyObject* send(PyObject* self, PyObject*) {
    PyObject* yielded = next(self);
    if (yielded == nullptr && PyErr_Occurred() == nullptr) PyErr_SetNone(PyExc_StopIteration);
    return yielded;
}

// Nobody waits any more; if the loop's future was cancelled, so is ours. False with an exception
// set, which a callback may have raised.
bool give_up(awaiter& a) {
    a.now = phase::over;
    const owned loop_future(std::exchange(a.entry.loop_future, nullptr));
    if (!loop_future) return true;
    const owned cancelled(PyObject_CallMethodNoArgs(loop_future.get(), name_cancelled));
    if (!cancelled) return false;
    if (cancelled.get() != Py_True) return true;
    const owned done(PyObject_CallMethodNoArgs(a.future, name_cancel));
    return static_cast<bool>(done);
}

// throw(exception), or as coroutines were thrown into before: throw(type, value, traceback).
PyObject* throw_into(PyObject* self, PyObject* const* args, Py_ssize_t count) {
    if (count < 1 || count > 3) {
        PyErr_Format(PyExc_TypeError, "throw expected 1 to 3 arguments, got %zd", count);
        return nullptr;
    }
    if (!in_python([self] { return give_up(as_awaiter(self)); })) return nullptr;
    PyObject* type = args[0];
    if (PyExceptionInstance_Check(type)) {
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(type)), type);
    } else if (PyExceptionClass_Check(type)) {
        PyErr_SetObject(type, count > 1 && args[1] != Py_None ? args[1] : nullptr);
    } else {
        PyErr_SetString(PyExc_TypeError, "throw expects an exception");
    }
    return nullptr;
}

PyObject* close(PyObject* self, PyObject*) {
    as_awaiter(self).now = phase::over;
    Py_CLEAR(as_awaiter(self).entry.loop_future);
    Py_RETURN_NONE;
}

// --- the type

int traverse(PyObject* self, visitproc visit, void* arg) {
    const awaiter& a = as_awaiter(self);
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(a.entry.loop_future);
    Py_VISIT(a.future);
    Py_VISIT(a.hub);
    return 0;
}

int clear(PyObject* self) {
    awaiter& a = as_awaiter(self);
    Py_CLEAR(a.entry.loop_future);
    Py_CLEAR(a.hub);
    return 0;
}

void dealloc(PyObject* self) {
    PyObject_GC_UnTrack(self);
    (void)clear(self);
    Py_CLEAR(as_awaiter(self).future);
    PyTypeObject* type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

PyMethodDef methods[] = {
    {"send", &send, METH_O, nullptr},
    {"throw", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&throw_into)),
     METH_FASTCALL, nullptr},
    {"close", &close, METH_NOARGS, nullptr},
    {}};
PyType_Slot slots[] = {{Py_tp_methods, methods},
                       {Py_tp_iter, reinterpret_cast<void*>(&PyObject_SelfIter)},
                       {Py_tp_iternext, reinterpret_cast<void*>(&next)},
                       {Py_tp_traverse, reinterpret_cast<void*>(&traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(&clear)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(&dealloc)},
                       {0, nullptr}};
PyType_Spec spec = {"hostlaunch._native._Awaiter", sizeof(awaiter), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};

}  // namespace

PyObject* new_awaiter(PyObject* future) noexcept {
    PyObject* made = awaiter_type->tp_alloc(awaiter_type, 0);
    if (made != nullptr) as_awaiter(made).future = Py_NewRef(future);
    return made;
}

void wake_awaiting(PyObject* awaiting) noexcept {
    if (!PyList_CheckExact(awaiting)) return wake_one(awaiting);
    const Py_ssize_t count = PyList_GET_SIZE(awaiting);
    for (Py_ssize_t i = 0; i < count; ++i)
        wake_one(PyList_GET_ITEM(awaiting, i));
}

wake_together::wake_together() noexcept : outermost_(!batch.together) {
    batch.together = true;
}

wake_together::~wake_together() {
    if (!outermost_) return;
    batch.together = false;
    while (batch.count > 0) {
        loop_hub* hub = batch.hubs[--batch.count];
        wake(*hub);
        Py_DECREF(hub);
    }
}

bool init_asyncio_bridge() {
    name_create_future = PyUnicode_InternFromString("create_future");
    name_cancelled = PyUnicode_InternFromString("cancelled");
    name_cancel = PyUnicode_InternFromString("cancel");
    if (PyErr_Occurred() != nullptr || !init_loop_hub()) return false;
    awaiter_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    return awaiter_type != nullptr;
}

}  // namespace hostlaunch::python
