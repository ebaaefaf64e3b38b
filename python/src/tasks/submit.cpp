// SPDX-License-Identifier: Apache-2.0
// submit and work_done: checks, a future and a filled record, the driver without the GIL.
#include "tasks/submit.hpp"

#include "arguments/errors.hpp"
#include "arguments/function_argument.hpp"
#include "arguments/stream_argument.hpp"
#include "core/process/process.hpp"
#include "core/routes/signal.hpp"
#include "core/routes/worker_pool.hpp"
#include "core/task/pool_of_records.hpp"
#include "core/task/release.hpp"
#include "cpython/references.hpp"
#include "tasks/future.hpp"
#include "tasks/future_task.hpp"
#include "tasks/release.hpp"
#include "tasks/submit_docs.hpp"

namespace hostlaunch::python {
namespace {

// The stream of a call, which must be no builder: what a builder records runs once a replay, and a
// future ends once.
bool read_stream(PyObject* object, const char* attempted, stream_argument& out) {
    if (!parse_stream(object, out)) return false;
    if (out.builder == nullptr) return require_open(object, out, attempted);
    PyErr_Format(PyExc_RuntimeError,
                 "%s: a graph builder takes no futures, since its functions run once for each "
                 "launch of the graph. Use host_launch(builder, fn), or %s on the stream that the "
                 "graph is launched on",
                 attempted, attempted);
    return false;
}

// Whether the call may enter the driver and the pool has threads.
bool enter(const char* attempted) {
    if (!core::on_fast_path()) {
        if (!enter_driver(attempted)) return false;
        if (core::exiting()) {
            set_error(core::refuse(misuse::exiting), attempted);
            return false;
        }
    }
    core::worker_pool& pool = core::worker_pool::common();
    const bool started = pool.is_started() || without_gil([&pool] { return pool.start(); });
    if (!started) PyErr_SetString(PyExc_RuntimeError, "can't start a thread of the pool");
    return started;
}

core::status enqueue(const stream_argument& stream, core::record& r, core::worker_pool& pool) {
    const core::stream_use on = stream.use();
    if (on.status().ok()) return core::launch_signal(on.target(), r, pool);
    pool.give_back();
    return on.status();
}

// What a task holds until a record does.
void drop(const future_task& held) {
    Py_XDECREF(held.kwargs);
    Py_XDECREF(held.args);
    Py_XDECREF(held.fn);
}

// fn(*args, **kwargs): as references that are dropped elsewhere.
bool hold_arguments(PyObject* const* args, Py_ssize_t count, PyObject* names, future_task& held) {
    owned positional(PyTuple_New(count));
    if (!positional) return false;
    for (Py_ssize_t i = 0; i < count; ++i)
        PyTuple_SET_ITEM(positional.get(), i, Py_NewRef(args[i]));
    owned named(names == nullptr ? nullptr : PyDict_New());
    if (names != nullptr && !named) return false;
    const Py_ssize_t named_count = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
    for (Py_ssize_t i = 0; i < named_count; ++i) {
        if (PyDict_SetItem(named.get(), PyTuple_GET_ITEM(names, i), args[count + i]) != 0)
            return false;
    }
    held.args = share_reference(positional.release());
    held.kwargs = share_reference(named.release());
    return true;
}

// Everything that tracks the task exists before the launch; on failure it is dropped, with an
// exception set. Takes the references that `held` has.
PyObject* launch(const stream_argument& stream, future_task held,
                 const hostlaunch::detail::signal_type& type, const char* attempted) {
    core::worker_pool& pool = core::worker_pool::common();
    core::record* r = core::record_pool::instance().acquire();
    owned future(new_future());
    if (r == nullptr || !future || !pool.reserve()) {
        if (r != nullptr) core::record_pool::instance().recycle(*r);
        drop(held);
        return PyErr_Occurred() == nullptr ? PyErr_NoMemory() : nullptr;
    }
    held.future = reference_for_others(future.get());
    r->type = &type.task;
    new (r->payload) future_task(held);
    set_task_of_future(future.get(), r->token_from(r->word.load(std::memory_order_relaxed)));
    const core::status s = without_gil([&] { return enqueue(stream, *r, pool); });
    if (s.ok()) {
        release_ended();
        return future.release();
    }
    core::discard(*r);
    set_error(s, attempted);
    return nullptr;
}

PyObject* submit(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
    constexpr const char* attempted = "submit";
    if (count < 2) {
        PyErr_Format(PyExc_TypeError, "submit() missing required argument: '%s'",
                     count == 0 ? "stream" : "fn");
        return nullptr;
    }
    stream_argument stream;
    if (!read_stream(args[0], attempted, stream)) return nullptr;
    if (!check_function_with_arguments(args[1]) || !enter(attempted)) return nullptr;
    future_task held;
    if (!hold_arguments(args + 2, count - 2, names, held)) return nullptr;
    held.fn = reference_for_others(args[1]);
    return launch(stream, held, call_for_future, attempted);
}

PyObject* work_done(PyObject*, PyObject* stream_object) {
    constexpr const char* attempted = "work_done";
    stream_argument stream;
    if (!read_stream(stream_object, attempted, stream) || !enter(attempted)) return nullptr;
    future_task held;
    held.args = reference_for_others(stream_object);
    return launch(stream, held, event_for_future, attempted);
}

PyMethodDef definitions[] = {
    {"submit", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&submit)),
     METH_FASTCALL | METH_KEYWORDS, submit_docs::submit},
    {"work_done", &work_done, METH_O, submit_docs::work_done}};

}  // namespace

bool add_submit(PyObject* module) {
    const owned module_name(PyUnicode_FromString("hostlaunch"));
    if (!module_name) return false;
    for (PyMethodDef& definition : definitions) {
        const owned function(PyCFunction_NewEx(&definition, nullptr, module_name.get()));
        if (!function || PyModule_AddObjectRef(module, definition.ml_name, function.get()) != 0) {
            return false;
        }
    }
    return true;
}

}  // namespace hostlaunch::python
