// SPDX-License-Identifier: Apache-2.0
// host_launch(stream, fn, *, user_data=None): checks, a filled record, the driver without the GIL.
#include "tasks/host_launch.hpp"

#include <new>

#include "arguments/errors.hpp"
#include "arguments/function_argument.hpp"
#include "arguments/stream_argument.hpp"
#include "core/routes/driver_thread.hpp"
#include "core/routes/native.hpp"
#include "core/task/release.hpp"
#include "core/task/trace.hpp"
#include "cpython/attributes.hpp"
#include "cpython/exceptions.hpp"
#include "tasks/payload.hpp"
#include "tasks/release.hpp"

namespace hostlaunch::python {
namespace {

constexpr const char* attempted = "host_launch";

PyObject* name_user_data = nullptr;
PyObject* name_stream = nullptr;
PyObject* name_fn = nullptr;

struct arguments {
    PyObject* stream = nullptr;
    PyObject* fn = nullptr;
    PyObject* user_data = nullptr;  // null: not given
};

bool is_name(PyObject* given, PyObject* name) {
    return given == name || PyUnicode_Compare(given, name) == 0;
}

bool take_keyword(PyObject* given, PyObject* value, arguments& out) {
    PyObject** slot = is_name(given, name_user_data) ? &out.user_data
                      : is_name(given, name_fn)      ? &out.fn
                      : is_name(given, name_stream)  ? &out.stream
                                                     : nullptr;
    if (slot == nullptr) {
        PyErr_Format(PyExc_TypeError, "host_launch() got an unexpected keyword argument '%U'",
                     given);
        return false;
    }
    if (*slot != nullptr) {
        PyErr_Format(PyExc_TypeError, "host_launch() got multiple values for argument '%U'", given);
        return false;
    }
    *slot = value;
    return true;
}

bool parse(PyObject* const* args, Py_ssize_t positional, PyObject* keywords, arguments& out) {
    if (positional > 2) {
        PyErr_Format(PyExc_TypeError,
                     "host_launch() takes 2 positional arguments but %zd were given (user_data is "
                     "keyword-only, and fn takes no arguments: use functools.partial)",
                     positional);
        return false;
    }
    if (positional > 0) out.stream = args[0];
    if (positional > 1) out.fn = args[1];
    const Py_ssize_t count = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
    for (Py_ssize_t i = 0; i < count; ++i) {
        if (!take_keyword(PyTuple_GET_ITEM(keywords, i), args[positional + i], out)) return false;
    }
    if (out.stream != nullptr && out.fn != nullptr) return true;
    PyErr_Format(PyExc_TypeError, "host_launch() missing required argument: '%s'",
                 out.stream == nullptr ? "stream" : "fn");
    return false;
}

// Contract S1: what the builder does afterwards is its own.
bool forward_to_builder(const arguments& given) {
    owned cause;
    int truth = truth_of(given.stream, name_is_building);
    if (truth > 0) {
        const int closed = truth_of(given.stream, name_is_closed);
        truth = closed < 0 ? -1 : 1 - closed;
    }
    if (truth < 0) cause = owned(take_exception());
    if (truth <= 0) {
        PyErr_Format(PyExc_RuntimeError,
                     "host_launch: the %.200s is not building (call begin_building first; a closed "
                     "or completed builder takes no more host functions)",
                     Py_TYPE(given.stream)->tp_name);
        if (cause) {
            PyObject* raised = take_exception();
            PyException_SetCause(raised, cause.release());
            restore_exception(raised);
        }
        return false;
    }
    PyObject* user_data = given.user_data == nullptr ? Py_None : given.user_data;
    PyObject* stack[] = {given.stream, given.fn, user_data};
    const owned names(PyTuple_Pack(1, name_user_data));
    if (!names) return false;
    const owned token(
        in_python([&] { return PyObject_VectorcallMethod(name_callback, stack, 2, names.get()); }));
    return static_cast<bool>(token);
}

const core::route& route_of(function_kind kind) noexcept {
    switch (kind) {
        case function_kind::compiled:
            return core::native;
        case function_kind::unknown_code:
            return core::unknown_code;
        default:
            return core::driver_thread;
    }
}

// What the function is called with is told apart from the record: once the driver has that, it may
// run and be released at any time.
core::status enqueue(const stream_argument& stream, core::record& r,
                     const function_argument& function) {
    const core::stream_use on = stream.use();
    if (!on.status().ok()) return on.status();
    if (function.kind == function_kind::callable && on.own() != nullptr) {
        return core::launch_on(*on.own(), r);
    }
    return route_of(function.kind).launch(on.target(), r, {function.code, function.user_data});
}

core::status enqueue_marked(const stream_argument& stream, core::record& r,
                            const function_argument& function, core::name_id name) {
    const core::stream_use on = stream.use();
    core::trace::launch mark(r, reinterpret_cast<std::uint64_t>(on.target().handle), name);
    const core::status s = enqueue(stream, r, function);
    if (s.ok()) mark.accept();
    return s;
}

template <bool watched>
bool launch(const arguments& given, const stream_argument& stream, function_argument& function) {
    core::record* r = core::record_pool::instance().acquire();
    if (r == nullptr) {
        PyErr_NoMemory();
        return false;
    }
    const payload& p = fill_payload(*r, type_of(function.kind), given.fn, function);
    const core::name_id name = watched ? name_of_payload(p) : core::no_name;
    const core::status s = without_gil([&] {
        return watched ? enqueue_marked(stream, *r, function, name) : enqueue(stream, *r, function);
    });
    if (s.ok()) return true;
    core::discard(*r);
    set_error(s, attempted);
    return false;
}

// Loads the driver if need be, or says why no launch may enter it; marks what somebody watches.
[[gnu::noinline, gnu::cold]] bool launch_slow(const arguments& given, const stream_argument& stream,
                                              function_argument& function) {
    if (!enter_driver(attempted)) return false;
    if (core::exiting()) {
        set_error(core::refuse(misuse::exiting), attempted);
        return false;
    }
    return core::trace::is_on() ? launch<true>(given, stream, function)
                                : launch<false>(given, stream, function);
}

PyObject* host_launch(PyObject*, PyObject* const* args, Py_ssize_t positional, PyObject* keywords) {
    arguments given;
    if (!parse(args, positional, keywords, given)) return nullptr;
    stream_argument stream;
    function_argument function;
    if (!parse_stream(given.stream, stream)) return nullptr;
    if (!check_function(given.fn, given.user_data, function)) return nullptr;
    if (stream.builder != nullptr) {
        if (!may_enter(attempted) || !forward_to_builder(given)) return nullptr;
        Py_RETURN_NONE;
    }
    if (!require_open(given.stream, stream, attempted)) return nullptr;
    const bool launched = core::on_fast_path() ? launch<false>(given, stream, function)
                                               : launch_slow(given, stream, function);
    if (!launched) return nullptr;
    release_ended();
    Py_RETURN_NONE;
}

constexpr const char* doc =
    R"(host_launch(stream, fn, *, user_data=None)
--

Enqueue a host function on a CUDA stream, in stream order.

`fn` runs once all work enqueued on `stream` before this call has completed, and work enqueued
afterwards waits until it returns. It runs on a thread that the driver owns. The call itself only
enqueues: wait with ``stream.sync()`` or an event recorded afterwards.

Parameters
----------
stream : Stream or object with a ``__cuda_stream__`` method or graph builder
    Where to enqueue: `hostlaunch.Stream`, streams of cuda.core, PyTorch, CuPy and numba-cuda, or a
    graph builder that is building, such as ``cuda.core.graph.GraphBuilder``.
fn : callable or ctypes function pointer
    A Python callable without arguments, or a ctypes function pointer declared as
    ``CFUNCTYPE(None, c_void_p)``. Compiled code behind such a pointer is passed to the driver as it
    is and runs without the GIL.
user_data : int or bytes-like, optional
    Only with a ctypes function pointer: what it is called with. An int is a pointer that the caller
    keeps valid; a bytes-like object is copied now, aligned to 64 bytes (empty: a null pointer).

Raises
------
TypeError
    Wrong kind of stream, function or user data; the message tells what is accepted.
ValueError
    A null function pointer, user data with a Python callable, or a default stream whose object
    names a device out of range.
OverflowError, BufferError
    A pointer that is negative or over 64 bits; a buffer that is not contiguous.
RuntimeError
    The stream is closed or captures a graph; no context is current for a default stream; the
    builder is closed or not building; the call comes from inside a host function, in a forked child
    or after interpreter exit has begun; or there is no usable driver library.
CUDAError
    The driver refused; then `fn` never runs and nothing is kept.
MemoryError
    There is none for the launch or for the copy of the user data.

Notes
-----
What the methods of another library's stream or builder raise passes through.

An exception in `fn` goes to ``sys.unraisablehook``; the stream continues. `fn` is released on the
main thread. It must not call CUDA. It may never run: after an error of its context, or if a stream
does not move: the interpreter's exit waits for what was launched, but five seconds at most.

A thread that holds the GIL while it blocks in a CUDA call that waits for this stream deadlocks with
a Python callback; calls of this library release the GIL.

Examples
--------
>>> import hostlaunch
>>> stream = hostlaunch.Stream()
>>> hostlaunch.host_launch(stream, lambda: print("all earlier work is done"))
>>> stream.sync()
all earlier work is done
)";

PyMethodDef definition = {"host_launch",
                          reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&host_launch)),
                          METH_FASTCALL | METH_KEYWORDS, doc};

}  // namespace

bool add_host_launch(PyObject* module) {
    name_user_data = PyUnicode_InternFromString("user_data");
    name_stream = PyUnicode_InternFromString("stream");
    name_fn = PyUnicode_InternFromString("fn");
    if (PyErr_Occurred() != nullptr) return false;
    const owned module_name(PyUnicode_FromString("hostlaunch"));
    if (!module_name) return false;
    const owned function(PyCFunction_NewEx(&definition, nullptr, module_name.get()));
    return function && PyModule_AddObjectRef(module, "host_launch", function.get()) == 0;
}

}  // namespace hostlaunch::python
