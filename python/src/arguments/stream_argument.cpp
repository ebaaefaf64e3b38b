// SPDX-License-Identifier: Apache-2.0
// Recognises our streams, graph builders and objects with __cuda_stream__, in that order of rules.
#include "arguments/stream_argument.hpp"

#include <climits>

#include "arguments/errors.hpp"
#include "arguments/numbers.hpp"
#include "arguments/own_objects.hpp"
#include "cpython/attributes.hpp"
#include "cpython/exceptions.hpp"

namespace hostlaunch::python {
namespace {

PyObject* name_cuda_stream = nullptr;
PyObject* name_device_index = nullptr;
PyObject* name_device_id = nullptr;
PyObject* number_zero = nullptr;  // the one that CPython keeps

bool is_builder(PyTypeObject* type) {
    return type_has(type, name_is_building) && type_has(type, name_callback);
}

bool refuse_type(PyObject* object, const stream_role& role) {
    PyErr_Format(PyExc_TypeError,
                 "%s must be %sa hostlaunch.Stream, a graph builder, or an object with a "
                 "__cuda_stream__ method (streams of cuda.core, torch, CuPy, numba), not %.200s%s",
                 role.argument, role.also, Py_TYPE(object)->tp_name,
                 PyLong_Check(object) && !PyBool_Check(object)
                     ? "; for a raw handle use Stream.from_handle(handle)"
                     : "");
    return false;
}

bool refuse_answer(PyObject* object, PyObject* answer) {
    const owned text = shown(answer);
    if (!text) return false;
    PyErr_Format(PyExc_TypeError,
                 "%.200s.__cuda_stream__() must return (0, handle), a protocol version and an int; "
                 "it returned %U",
                 Py_TYPE(object)->tp_name, text.get());
    return false;
}

// Reads (0, handle) where it is made of just that.
bool read_plain_answer(PyObject* answer, abi::stream* out) {
    if (!PyTuple_CheckExact(answer) || PyTuple_GET_SIZE(answer) != 2) return false;
    PyObject* handle = PyTuple_GET_ITEM(answer, 1);
    if (PyTuple_GET_ITEM(answer, 0) != number_zero || !PyLong_CheckExact(handle)) return false;
    unsigned long address = 0;
    if (!fits_unsigned(handle, &address)) return false;
    *out = reinterpret_cast<abi::stream>(address);
    return true;
}

// Reads (0, handle) or says what is wrong with the answer.
bool read_answer(PyObject* object, PyObject* answer, abi::stream* out) {
    if (read_plain_answer(answer, out)) return true;
    if (!PyTuple_Check(answer) && !PyList_Check(answer)) return refuse_answer(object, answer);
    if (PySequence_Size(answer) != 2) return refuse_answer(object, answer);
    const owned version(PySequence_GetItem(answer, 0));
    const owned handle(PySequence_GetItem(answer, 1));
    if (!version || !handle) return false;
    if (!is_number(version.get()) || !is_number(handle.get())) {
        return refuse_answer(object, answer);
    }
    const owned zero = to_int(version.get(), "the version");
    const owned number = zero ? to_int(handle.get(), "the handle") : owned();
    if (!number) return false;
    unsigned long protocol = 0;
    unsigned long address = 0;
    if (!fits_unsigned(zero.get(), &protocol) || protocol != 0 ||
        !fits_unsigned(number.get(), &address)) {
        return refuse_answer(object, answer);
    }
    *out = reinterpret_cast<abi::stream>(address);
    return true;
}

bool read_ordinal(PyObject* number, int* out) {
    int overflow = 0;
    const long device = PyLong_AsLongAndOverflow(number, &overflow);
    if (overflow > 0 || device > INT_MAX) {
        const owned text = shown(number);
        if (text) {
            PyErr_Format(PyExc_ValueError, "the stream names a device out of range: %U",
                         text.get());
        }
        return false;
    }
    *out = static_cast<int>(device < 0 ? -1 : device);
    return true;
}

// The device that the carrier of a default-stream token names, -1 if it names none.
bool read_device(PyObject* object, int* out) {
    for (PyObject* name : {name_device_index, name_device_id}) {
        owned value;
        const int found = find_attribute(object, name, value);
        if (found < 0) return false;
        if (found == 0 || !is_number(value.get())) continue;
        const owned number = to_int(value.get(), "the device");
        return number && read_ordinal(number.get(), out);
    }
    return true;
}

owned call_cuda_stream(PyObject* object, const stream_role& role) {
    owned answer;
    if (call_method_of_type(object, name_cuda_stream, answer)) return answer;
    owned method;
    const int found = find_attribute(object, name_cuda_stream, method);
    if (found == 0) refuse_type(object, role);
    if (found <= 0) return owned();
    if (!PyCallable_Check(method.get())) {
        const owned text = shown(method.get());
        if (!text) return owned();
        PyErr_Format(PyExc_TypeError,
                     "%.200s.__cuda_stream__ must be a method; it is an attribute with the value "
                     "%U",
                     Py_TYPE(object)->tp_name, text.get());
        return owned();
    }
    return owned(in_python([&] { return PyObject_CallNoArgs(method.get()); }));
}

bool ask_foreign(PyObject* object, stream_argument& out) {
    const owned answer = call_cuda_stream(object, *out.role);
    if (!answer) return false;
    if (!read_answer(object, answer.get(), &out.target.handle)) return false;
    return !core::is_default_stream(out.target.handle) || read_device(object, &out.target.device);
}

}  // namespace

bool parse_stream(PyObject* object, stream_argument& out) {
    out.own = own_streams.find(object);
    if (out.own != nullptr) {
        out.target = out.own->target();
        return true;
    }
    if (is_builder(Py_TYPE(object))) {
        out.builder = object;
        return true;
    }
    // A class itself has the method but no stream.
    return PyType_Check(object) ? refuse_type(object, *out.role) : ask_foreign(object, out);
}

bool parse_builder_stream(PyObject* builder, stream_argument& out) {
    out.builder = nullptr;
    const core::graph_builder* own = own_builders.find(builder);
    if (own == nullptr) return ask_foreign(builder, out);
    out.own = own->owner();  // which calls keep in use, as they do for the stream itself
    out.target = own->target();
    return true;
}

bool require_open(PyObject* object, const stream_argument& stream, const char* attempted) {
    bool closed = false;
    if (stream.own != nullptr) {
        closed = stream.own->is_closed();
    } else if (!has_what_its_type_has(Py_TYPE(object)) ||
               type_has(Py_TYPE(object), name_is_closed)) {
        const int truth = truth_of(object, name_is_closed);
        if (truth < 0) return false;
        closed = truth > 0;
    }
    if (closed) set_error(core::refuse_closed(stream.role->name), attempted);
    return !closed;
}

bool init_stream_argument() {
    name_cuda_stream = PyUnicode_InternFromString("__cuda_stream__");
    name_device_index = PyUnicode_InternFromString("device_index");
    name_device_id = PyUnicode_InternFromString("device_id");
    number_zero = PyLong_FromLong(0);
    return PyErr_Occurred() == nullptr;
}

}  // namespace hostlaunch::python
