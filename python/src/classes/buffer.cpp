// SPDX-License-Identifier: Apache-2.0
// Buffer as a Python class; a pinned one exports its memory.
//
// Each exported view is a use of the memory: after close() it lives until the last view is
// released.
#include "classes/buffer.hpp"

#include "classes/class_docs.hpp"
#include "classes/holder.hpp"
#include "cpython/exceptions.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hostlaunch::python {
namespace {

std::size_t size_argument(nb::handle nbytes) {
    const nb::object number = int_of(nbytes, "nbytes");
    int overflow = 0;
    const long size = PyLong_AsLongAndOverflow(number.ptr(), &overflow);
    if (overflow > 0) {
        const owned text = shown(number.ptr());
        if (text) PyErr_Format(PyExc_ValueError, "nbytes is too large: %U", text.get());
        throw nb::python_error();
    }
    if (size <= 0) refuse_value(PyExc_ValueError, "nbytes must be positive", number);
    return static_cast<std::size_t>(size);
}

core::buffer::kind kind_argument(nb::handle kind) {
    require_str(kind, "kind");
    if (PyUnicode_CompareWithASCIIString(kind.ptr(), "device") == 0) {
        return core::buffer::kind::device;
    }
    if (PyUnicode_CompareWithASCIIString(kind.ptr(), "pinned") == 0) {
        return core::buffer::kind::pinned;
    }
    refuse_value(PyExc_ValueError, "kind must be 'device' or 'pinned'", kind);
}

void init_buffer(py_buffer* self, nb::handle nbytes, nb::handle kind, nb::handle device_id) {
    const std::size_t size = size_argument(nbytes);
    const core::buffer::kind where = kind_argument(kind);
    const int device = device_argument(device_id);
    enter("Buffer()");
    std::unique_ptr<core::buffer> made;
    const core::status s =
        without_gil([&] { return core::buffer::create(size, where, device, made); });
    throw_status(s, "Buffer()");
    new (self) py_buffer(std::move(made));
}

void check_sizes(py_buffer& destination, py_buffer& source) {
    const std::size_t to = destination.object->size();
    const std::size_t from = source.object->size();
    if (to == from) return;
    PyErr_Format(PyExc_ValueError, "buffers differ in size: %zu bytes to copy into %zu", from, to);
    throw nb::python_error();
}

void copy(py_buffer& destination, py_buffer& source, nb::handle stream, const char* attempted) {
    check_sizes(destination, source);
    const stream_argument on = stream_from(stream, attempted);
    const auto copy_into = [&](core::buffer& to) -> core::status {
        const core::handle::use from_use(source.object->guard());
        if (!from_use) return core::refuse_closed("source buffer");
        const core::stream_use in_use = on.use();
        if (!in_use.status().ok()) return in_use.status();
        return core::copy(in_use.target(), to, *source.object);
    };
    use_object(destination, attempted, copy_into, "destination buffer");
}

void buffer_copy_to(py_buffer& self, nb::handle dst, nb::handle stream) {
    copy(instance_of<py_buffer>(dst, "dst"), self, stream, "Buffer.copy_to");
}

void buffer_copy_from(py_buffer& self, nb::handle src, nb::handle stream) {
    copy(self, instance_of<py_buffer>(src, "src"), stream, "Buffer.copy_from");
}

void buffer_fill(py_buffer& self, nb::handle value, nb::handle stream) {
    const int byte = int_argument(value, "value");
    if (byte < 0 || byte > 255)
        refuse_value(PyExc_ValueError, "value must be from 0 to 255", value);
    const stream_argument on = stream_from(stream, "Buffer.fill");
    use_object(self, "Buffer.fill", [&](core::buffer& to) {
        const core::stream_use in_use = on.use();
        if (!in_use.status().ok()) return in_use.status();
        return core::fill(in_use.target(), to, static_cast<unsigned char>(byte));
    });
}

core::buffer* ready_buffer(PyObject* object) {
    return nb::inst_ready(object) ? nb::inst_ptr<py_buffer>(object)->object.get() : nullptr;
}

int get_buffer(PyObject* exporter, Py_buffer* view, int flags) {
    core::buffer* memory = ready_buffer(exporter);
    const char* reason = nullptr;
    if (memory == nullptr) {
        reason = "the buffer was not initialised";
    } else if (memory->where() != core::buffer::kind::pinned) {
        reason = "device memory cannot be read by the host: copy it to a pinned buffer";
    } else if (!memory->guard().enter()) {
        reason = "the buffer is closed";
    }
    if (reason != nullptr) {
        view->obj = nullptr;
        PyErr_SetString(PyExc_BufferError, reason);
        return -1;
    }
    const auto size = static_cast<Py_ssize_t>(memory->size());
    if (PyBuffer_FillInfo(view, exporter, memory->host(), size, 0, flags) == 0) return 0;
    without_gil([memory] {
        memory->guard().leave();
        return 0;
    });
    return -1;
}

void release_buffer(PyObject* exporter, Py_buffer*) {
    core::buffer* memory = ready_buffer(exporter);
    without_gil([memory] {
        memory->guard().leave();
        return 0;
    });
}

PyType_Slot buffer_slots[] = {
    {Py_bf_getbuffer, reinterpret_cast<void*>(&get_buffer)},
    {Py_bf_releasebuffer, reinterpret_cast<void*>(&release_buffer)},
    {0, nullptr},
};

}  // namespace

void bind_buffer(nb::module_& m) {
    nb::class_<py_buffer> cls(m, "Buffer", docs::buffer, nb::is_weak_referenceable(),
                              nb::type_slots(buffer_slots));
    cls.def("__init__", &init_buffer, "nbytes"_a.none(), nb::kw_only(), "kind"_a.none() = "device",
            "device_id"_a = nb::none(), nb::sig(docs::buffer_init_sig))
        .def("copy_to", method(&buffer_copy_to), "dst"_a.none(), nb::kw_only(), "stream"_a.none(),
             docs::copy_to,
             nb::sig("def copy_to(self, dst: Buffer, *, stream: StreamLike) -> None"))
        .def("copy_from", method(&buffer_copy_from), "src"_a.none(), nb::kw_only(),
             "stream"_a.none(), docs::copy_from,
             nb::sig("def copy_from(self, src: Buffer, *, stream: StreamLike) -> None"))
        .def("fill", method(&buffer_fill), "value"_a.none(), nb::kw_only(), "stream"_a.none(),
             docs::fill,
             nb::sig("def fill(self, value: SupportsIndex, *, stream: StreamLike) -> None"))
        .def("close", method(&close_object<core::buffer>), docs::buffer_close,
             nb::sig("def close(self) -> None"))
        .def("__repr__", method(+[](py_buffer& self) { return repr(self, "Buffer"); }))
        .def_prop_ro("handle",
                     method(+[](py_buffer& self) { return open_value(self, "Buffer.handle"); }),
                     docs::buffer_handle)
        .def_prop_ro("nbytes", method(+[](py_buffer& self) { return self.object->size(); }),
                     docs::buffer_nbytes)
        .def_prop_ro("is_closed", method(&is_closed<core::buffer>), docs::is_closed);
    cls.attr("__module__") = "hostlaunch";
}

}  // namespace hostlaunch::python
