// SPDX-License-Identifier: Apache-2.0
// Hubs: found by loop, read by the loop, and gone with it.
#include "tasks/loop_hub.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <new>

namespace hostlaunch::python {
namespace {

PyTypeObject* hub_type = nullptr;
PyObject* name_add_reader = nullptr;
PyObject* name_drain = nullptr;
PyObject* name_done = nullptr;
PyObject* name_set_result = nullptr;

// All hubs, few as loops are. The list holds no references: a hub leaves it when it dies, which it
// does not while its loop runs, and it keeps the loop till then, so no loop's address is another's.
std::mutex hubs_mutex;
loop_hub* hubs = nullptr;

loop_hub& as_hub(PyObject* object) noexcept {
    return *reinterpret_cast<loop_hub*>(object);
}

loop_hub* find_hub(PyObject* loop) noexcept {
    const std::lock_guard lock(hubs_mutex);
    for (loop_hub* h = hubs; h != nullptr; h = h->next_hub) {
        if (h->loop == loop) return reinterpret_cast<loop_hub*>(Py_NewRef(h));
    }
    return nullptr;
}

void enlist(loop_hub& hub) noexcept {
    const std::lock_guard lock(hubs_mutex);
    hub.next_hub = hubs;
    hubs = &hub;
}

void strike(const loop_hub& hub) noexcept {
    const std::lock_guard lock(hubs_mutex);
    for (loop_hub** place = &hubs; *place != nullptr; place = &(*place)->next_hub) {
        if (*place == &hub) {
            *place = hub.next_hub;
            return;
        }
    }
}

hub_entry* take_all(loop_hub& hub) noexcept {
    const std::lock_guard lock(hub.mutex);
    hub_entry* first = std::exchange(hub.first, nullptr);
    hub.last = &hub.first;
    return first;
}

// A task that was cancelled meanwhile has ended its future itself.
bool complete(PyObject* loop_future) {
    const owned done(PyObject_CallMethodNoArgs(loop_future, name_done));
    if (!done) return false;
    if (done.get() == Py_True) return true;
    const owned set(PyObject_CallMethodOneArg(loop_future, name_set_result, Py_None));
    return static_cast<bool>(set);
}

// Called by the loop: completes what has ended. The eventfd is read first, so that what comes
// afterwards wakes the loop anew.
PyObject* drain(PyObject* self, PyObject*) {
    loop_hub& hub = as_hub(self);
    std::uint64_t count = 0;
    (void)!read(hub.fd, &count, sizeof count);
    hub_entry* entry = take_all(hub);
    while (entry != nullptr) {
        hub_entry* next = std::exchange(entry->next, nullptr);
        const owned loop_future(Py_XNewRef(entry->loop_future));
        if (loop_future && !in_python([&] { return complete(loop_future.get()); })) {
            PyErr_WriteUnraisable(loop_future.get());
        }
        Py_DECREF(entry);
        entry = next;
    }
    Py_RETURN_NONE;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(as_hub(self).loop);
    // What has ended is about to be taken by the loop, or will never be: visited, so that a loop
    // which was closed with entries under way can be collected.
    for (hub_entry* e = as_hub(self).first; e != nullptr; e = e->next) {
        const int stopped = visit(reinterpret_cast<PyObject*>(e), arg);
        if (stopped != 0) return stopped;
    }
    return 0;
}

int clear(PyObject* self) {
    hub_entry* entry = take_all(as_hub(self));
    while (entry != nullptr) {
        hub_entry* next = std::exchange(entry->next, nullptr);
        Py_DECREF(entry);
        entry = next;
    }
    return 0;
}

void dealloc(PyObject* self) {
    PyObject_GC_UnTrack(self);
    loop_hub& hub = as_hub(self);
    strike(hub);
    (void)clear(self);
    if (hub.fd >= 0) close(hub.fd);
    Py_XDECREF(hub.loop);  // after the hub has left the list, which finds it by the loop
    hub.mutex.~mutex();
    PyTypeObject* type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

PyMethodDef methods[] = {{"drain", &drain, METH_NOARGS, nullptr}, {}};
PyType_Slot slots[] = {{Py_tp_methods, methods},
                       {Py_tp_traverse, reinterpret_cast<void*>(&traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(&clear)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(&dealloc)},
                       {0, nullptr}};
PyType_Spec spec = {"hostlaunch._native._LoopHub", sizeof(loop_hub), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};

PyObject* make_hub(PyObject* loop) {
    owned made(hub_type->tp_alloc(hub_type, 0));
    if (!made) return nullptr;
    loop_hub& hub = as_hub(made.get());
    new (&hub.mutex) std::mutex;
    hub.last = &hub.first;
    hub.loop = Py_NewRef(loop);
    hub.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (hub.fd < 0) return PyErr_SetFromErrno(PyExc_OSError);
    const owned fd(PyLong_FromLong(hub.fd));
    const owned drain_method(PyObject_GetAttr(made.get(), name_drain));
    if (!fd || !drain_method) return nullptr;
    const owned added(in_python([&] {
        return PyObject_CallMethodObjArgs(loop, name_add_reader, fd.get(), drain_method.get(),
                                          nullptr);
    }));
    if (!added) return nullptr;
    enlist(hub);
    return made.release();
}

}  // namespace

PyObject* hub_of(PyObject* loop) noexcept {
    loop_hub* found = find_hub(loop);
    return found != nullptr ? reinterpret_cast<PyObject*>(found) : make_hub(loop);
}

bool deliver(loop_hub& hub, hub_entry& entry) noexcept {
    Py_INCREF(&entry);
    const std::lock_guard lock(hub.mutex);
    const bool was_empty = hub.first == nullptr;
    entry.next = nullptr;
    *hub.last = &entry;
    hub.last = &entry.next;
    return was_empty;
}

void wake(const loop_hub& hub) noexcept {
    const std::uint64_t one = 1;
    (void)!write(hub.fd, &one, sizeof one);
}

bool init_loop_hub() {
    name_add_reader = PyUnicode_InternFromString("add_reader");
    name_drain = PyUnicode_InternFromString("drain");
    name_done = PyUnicode_InternFromString("done");
    name_set_result = PyUnicode_InternFromString("set_result");
    if (PyErr_Occurred() != nullptr) return false;
    hub_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    return hub_type != nullptr;
}

}  // namespace hostlaunch::python
