// SPDX-License-Identifier: Apache-2.0
// Stream and Event as Python classes over the core's objects.
#include "classes.hpp"

#include "class_docs.hpp"
#include "holder.hpp"
#include "release.hpp"
#include "stream_argument.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hostlaunch::python {

int int_argument(nb::handle value, const char* name) {
    const long number =
        PyLong_Check(value.ptr()) && !PyBool_Check(value.ptr()) ? PyLong_AsLong(value.ptr()) : -1;
    if (!PyLong_Check(value.ptr()) || PyBool_Check(value.ptr())) {
        PyErr_Format(PyExc_TypeError, "%s must be an int, not %.200s", name,
                     Py_TYPE(value.ptr())->tp_name);
        throw nb::python_error();
    }
    if (PyErr_Occurred() != nullptr || number != static_cast<int>(number)) {
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError, "%s is out of range: %R", name, value.ptr());
        throw nb::python_error();
    }
    return static_cast<int>(number);
}

stream_argument stream_from(nb::handle object, const char* attempted) {
    stream_argument stream;
    if (!parse_stream(object.ptr(), stream)) throw nb::python_error();
    if (stream.builder != nullptr && !parse_builder_stream(object.ptr(), stream)) {
        throw nb::python_error();
    }
    if (!require_open(object.ptr(), stream, attempted)) throw nb::python_error();
    enter(attempted);
    return stream;
}

namespace {

PyTypeObject* stream_type = nullptr;

void init_stream(py_stream* self, nb::handle device_id, bool nonblocking, nb::handle priority) {
    core::stream_options options;
    options.nonblocking = nonblocking;
    if (!device_id.is_none()) {
        options.device = int_argument(device_id, "device_id");
        if (options.device < 0) throw nb::value_error("device_id must not be negative");
    }
    if (!priority.is_none()) options.priority = int_argument(priority, "priority");
    enter("Stream()");
    std::unique_ptr<core::stream> made;
    const core::status s = without_gil([&] { return core::stream::create(options, made); });
    if (s.code == abi::error_invalid_value && s.call == nullptr) {
        throw nb::value_error("priority is outside the range that the device supports");
    }
    throw_status(s, "Stream()");
    new (self) py_stream(std::move(made));
}

py_stream stream_from_handle(nb::handle handle) {
    if (!PyLong_Check(handle.ptr()) || PyBool_Check(handle.ptr())) {
        PyErr_Format(PyExc_TypeError, "Stream.from_handle: handle must be an int, not %.200s",
                     Py_TYPE(handle.ptr())->tp_name);
        throw nb::python_error();
    }
    const unsigned long long value = PyLong_AsUnsignedLongLong(handle.ptr());
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
    return py_stream(std::make_shared<core::stream>(reinterpret_cast<abi::stream>(value)));
}

// A Ctrl-C that came during a wait is raised by the wait, not inside some finalizer that is
// released behind it, where it would be lost.
void raise_pending_signals() {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

void stream_sync(nb::handle self) {
    const stream_argument stream = stream_from(self, "Stream.sync");
    throw_status(on_stream(stream,
                           [](const core::stream_target& target) {
                               return core::as_is::settle_after(core::sync_stream(target));
                           }),
                 "Stream.sync");
    raise_pending_signals();
    release_ended();
}

nb::object record_new(const stream_argument& stream) {
    std::unique_ptr<core::event> made;
    const core::status s = on_stream(stream, [&](core::stream_target target) -> core::status {
        if (const core::status found = core::find_context(target); !found.ok()) return found;
        if (const core::status c = core::event::create(target, made); !c.ok()) return c;
        return core::record_event(target, *made);
    });
    if (!s.ok()) {
        const py_event failed(std::move(made));  // dies detached
        throw_status(s, "Stream.record");
    }
    return nb::cast(py_event(std::move(made)));
}

nb::object stream_record(nb::handle self, nb::object event) {
    const stream_argument stream = stream_from(self, "Stream.record");
    if (event.is_none()) return record_new(stream);
    if (!nb::isinstance<py_event>(event)) {
        PyErr_Format(PyExc_TypeError, "Stream.record: event must be a hostlaunch.Event, not %.200s",
                     Py_TYPE(event.ptr())->tp_name);
        throw nb::python_error();
    }
    use_object(nb::cast<py_event&>(event), "Stream.record", [&](core::event& e) {
        const core::handle::use use(stream.own->guard());
        return use ? core::record_event(stream.target, e) : core::refuse(misuse::closed);
    });
    return event;
}

void stream_wait(nb::handle self, nb::handle event_or_stream) {
    const stream_argument stream = stream_from(self, "Stream.wait");
    if (nb::isinstance<py_event>(event_or_stream)) {
        use_object(nb::cast<py_event&>(event_or_stream), "Stream.wait", [&](core::event& e) {
            const core::handle::use use(stream.own->guard());
            return use ? core::wait_event(stream.target, e) : core::refuse(misuse::closed);
        });
        return;
    }
    const stream_argument other = stream_from(event_or_stream, "Stream.wait");
    const core::status s =
        on_stream(stream, [&](const core::stream_target& target) -> core::status {
            if (other.own == nullptr) return core::wait_stream(target, other.target);
            const core::handle::use use(other.own->guard());
            return use ? core::wait_stream(target, other.target) : core::refuse(misuse::closed);
        });
    throw_status(s, "Stream.wait");
}

int stream_device(py_stream& self) {
    int device = 0;
    use_object(self, "Stream.device_id", [&](core::stream& s) { return s.device(&device); });
    return device;
}

void event_sync(py_event& self) {
    use_object(self, "Event.sync",
               [](core::event& e) { return core::as_is::settle_after(e.sync()); });
    raise_pending_signals();
    release_ended();
}

bool event_is_done(py_event& self) {
    bool done = false;
    use_object(self, "Event.is_done", [&](core::event& e) { return e.query(&done); });
    return done;
}

}  // namespace

void bind_stream(nb::module_& m) {
    nb::class_<py_stream> cls(m, "Stream", docs::stream, nb::is_weak_referenceable());
    cls.def("__init__", &init_stream, "device_id"_a = nb::none(), nb::kw_only(),
            "nonblocking"_a = true, "priority"_a = nb::none(), nb::sig(docs::stream_init_sig))
        .def_static("from_handle", &stream_from_handle, "handle"_a, docs::from_handle,
                    nb::sig("def from_handle(handle: int) -> Stream"))
        .def("sync", &stream_sync, docs::stream_sync, nb::sig("def sync(self) -> None"))
        .def("record", &stream_record, "event"_a = nb::none(), docs::stream_record,
             nb::sig("def record(self, event: Event | None = None) -> Event"))
        .def("wait", &stream_wait, "event_or_stream"_a, docs::stream_wait,
             nb::sig(docs::stream_wait_sig))
        .def("create_graph_builder", &create_graph_builder, docs::create_graph_builder,
             nb::sig("def create_graph_builder(self) -> GraphBuilder"))
        .def("close", &close_object<core::stream>, docs::stream_close,
             nb::sig("def close(self) -> None"))
        .def("__enter__", [](nb::object self) { return self; })
        .def("__exit__", [](py_stream& self, nb::args) { close_object(self); })
        .def(
            "__cuda_stream__", [](py_stream& self) { return nb::make_tuple(0, raw_value(self)); },
            docs::cuda_stream, nb::sig("def __cuda_stream__(self) -> tuple[int, int]"))
        .def("__repr__", [](py_stream& self) { return repr(self, "Stream"); })
        .def_prop_ro("handle", &raw_value<core::stream>, "int: the ``CUstream``.")
        .def_prop_ro("device_id", &stream_device, "int: the ordinal of the stream's device.")
        .def_prop_ro("is_closed", &is_closed<core::stream>, docs::is_closed);
    stream_type = reinterpret_cast<PyTypeObject*>(cls.ptr());
    cls.attr("__module__") = "hostlaunch";
}

void bind_event(nb::module_& m) {
    nb::class_<py_event> cls(m, "Event", docs::event, nb::is_weak_referenceable());
    cls.def("sync", &event_sync, docs::event_sync, nb::sig("def sync(self) -> None"))
        .def("close", &close_object<core::event>, docs::event_close,
             nb::sig("def close(self) -> None"))
        .def("__repr__", [](py_event& self) { return repr(self, "Event"); })
        .def_prop_ro("is_done", &event_is_done, docs::event_is_done)
        .def_prop_ro("handle", &raw_value<core::event>, "int: the ``CUevent``.")
        .def_prop_ro("is_closed", &is_closed<core::event>, docs::is_closed);
    cls.attr("__module__") = "hostlaunch";
}

core::stream* own_stream(PyObject* object) noexcept {
    if (!PyObject_TypeCheck(object, stream_type) || !nb::inst_ready(object)) return nullptr;
    return nb::inst_ptr<py_stream>(object)->object.get();
}

}  // namespace hostlaunch::python
