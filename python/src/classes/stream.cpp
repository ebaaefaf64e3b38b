// SPDX-License-Identifier: Apache-2.0
// Stream as a Python class over the core's.
#include "classes/stream.hpp"

#include "arguments/numbers.hpp"
#include "arguments/own_objects.hpp"
#include "classes/class_docs.hpp"
#include "classes/graphs.hpp"
#include "classes/waits.hpp"
#include "core/routes/routes.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hostlaunch::python {

stream_argument stream_of(py_stream& self, const char* attempted) {
    stream_argument stream;
    stream.own = self.object.get();
    stream.target = stream.own->target();
    if (stream.own->is_closed()) throw_status(core::refuse_closed("stream"), attempted);
    enter(attempted);
    return stream;
}

namespace {

constexpr stream_role waited_for{"event_or_stream", "a hostlaunch.Event, ", "other stream"};

void init_stream(py_stream* self, nb::handle device_id, nb::handle nonblocking,
                 nb::handle priority) {
    core::stream_options options;
    if (!PyBool_Check(nonblocking.ptr())) {
        PyErr_Format(PyExc_TypeError, "nonblocking must be a bool, not %.200s",
                     Py_TYPE(nonblocking.ptr())->tp_name);
        throw nb::python_error();
    }
    options.nonblocking = nonblocking.ptr() == Py_True;
    options.device = device_argument(device_id);
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
    const nb::object number = int_of(handle, "Stream.from_handle: handle");
    unsigned long value = 0;
    if (!fits_unsigned(number.ptr(), &value)) {
        refuse_value(PyExc_OverflowError, "Stream.from_handle: handle must be from 0 to 2**64 - 1",
                     number);
    }
    return py_stream(std::make_shared<core::stream>(reinterpret_cast<abi::stream>(value)));
}

// Equal are open streams of one handle, which belongs to one device. A closed one equals only
// itself, since drivers use handles again; it hashes as before.
nb::object stream_equals(py_stream& self, nb::handle other) {
    if (!nb::isinstance<py_stream>(other)) return nb::borrow(Py_NotImplemented);
    auto& another = instance_of<py_stream>(other, "other");
    const bool same = &self == &another || (!is_closed(self) && !is_closed(another) &&
                                            raw_value(self) == raw_value(another));
    return nb::bool_(same);
}

Py_hash_t stream_hash(py_stream& self) {
    return static_cast<Py_hash_t>(raw_value(self) >> 4);
}

// The end of a stream's work, let go of without the GIL.
struct stream_end {
    std::unique_ptr<core::event> event;
    ~stream_end() {
        without_gil([this] {
            event.reset();
            return 0;
        });
    }
};

void wait_for_end(const stream_argument& stream, const wait_choice& choice) {
    constexpr const char* attempted = "Stream.sync";
    stream_end end;
    throw_status(without_gil([&] {
                     const core::stream_use on = stream.use();
                     return on.status().ok() ? core::record_end(on.target(), end.event)
                                             : on.status();
                 }),
                 attempted);
    wait_in_pieces(choice, attempted, [&](core::waited* how) {
        throw_status(without_gil([&] {
                         const core::status s =
                             core::wait_a_while(*end.event, *choice.deadline, how);
                         return *how == core::waited::done ? core::routes::settle_after(s) : s;
                     }),
                     attempted);
    });
}

void stream_sync(py_stream& self, nb::handle timeout, nb::handle blocking) {
    const stream_argument stream = stream_of(self, "Stream.sync");
    const wait_choice choice = wait_choice_of(timeout, blocking);
    wait_and_release([&stream, &choice] {
        if (choice.deadline) {
            wait_for_end(stream, choice);
            return;
        }
        throw_status(without_gil([&] {
                         const core::stream_use on = stream.use();
                         if (!on.status().ok()) return on.status();
                         return core::routes::settle_after(
                             choice.asleep ? core::sync_stream_asleep(on.target())
                                           : core::sync_stream(on.target()));
                     }),
                     "Stream.sync");
    });
}

nb::object record_new_event(const stream_argument& stream) {
    std::unique_ptr<core::event> made;
    throw_status(without_gil([&] {
                     const core::stream_use on = stream.use();
                     return on.status().ok() ? core::record_new_event(on.target(), made)
                                             : on.status();
                 }),
                 "Stream.record");
    return nb::cast(py_event(std::move(made)));
}

nb::object stream_record(py_stream& self, nb::object event) {
    const stream_argument stream = stream_of(self, "Stream.record");
    if (event.is_none()) return record_new_event(stream);
    use_object(instance_of<py_event>(event, "event"), "Stream.record", [&](core::event& e) {
        const core::stream_use on = stream.use();
        return on.status().ok() ? core::record_event(on.target(), e) : on.status();
    });
    return event;
}

void wait_for_event(const stream_argument& stream, py_event& event) {
    use_object(event, "Stream.wait", [&](core::event& e) {
        const core::stream_use on = stream.use();
        return on.status().ok() ? core::wait_event(on.target(), e) : on.status();
    });
}

void stream_wait(py_stream& self, nb::handle event_or_stream) {
    const stream_argument stream = stream_of(self, "Stream.wait");
    if (nb::isinstance<py_event>(event_or_stream)) {
        wait_for_event(stream, instance_of<py_event>(event_or_stream, "event_or_stream"));
        return;
    }
    const stream_argument other = stream_from(event_or_stream, "Stream.wait", waited_for);
    throw_status(without_gil([&] {
                     const core::stream_use on = stream.use();
                     if (!on.status().ok()) return on.status();
                     const core::stream_use behind = other.use();
                     if (!behind.status().ok()) return behind.status();
                     return core::wait_stream(on.target(), behind.target());
                 }),
                 "Stream.wait");
}

int stream_device(py_stream& self) {
    int device = 0;
    use_object(self, "Stream.device_id", [&](core::stream& s) { return s.device(&device); });
    return device;
}

core::stream* stream_inside(PyObject* object) noexcept {
    return nb::inst_ready(object) ? nb::inst_ptr<py_stream>(object)->object.get() : nullptr;
}

}  // namespace

void bind_stream(nb::module_& m) {
    nb::class_<py_stream> cls(m, "Stream", docs::stream, nb::is_weak_referenceable());
    cls.def("__init__", &init_stream, "device_id"_a = nb::none(), nb::kw_only(),
            "nonblocking"_a.none() = true, "priority"_a = nb::none(),
            nb::sig(docs::stream_init_sig))
        .def_static("from_handle", &stream_from_handle, "handle"_a.none(), docs::from_handle,
                    nb::sig("def from_handle(handle: SupportsIndex) -> Stream"))
        .def("sync", method(&stream_sync), "timeout"_a.none() = nb::none(), nb::kw_only(),
             "blocking"_a.none() = nb::none(), docs::stream_sync, nb::sig(docs::sync_sig))
        .def("record", method(&stream_record), "event"_a = nb::none(), docs::stream_record,
             nb::sig("def record(self, event: Event | None = None) -> Event"))
        .def("wait", method(&stream_wait), "event_or_stream"_a.none(), docs::stream_wait,
             nb::sig(docs::stream_wait_sig))
        .def("create_graph_builder", &create_graph_builder, docs::create_graph_builder,
             nb::sig("def create_graph_builder(self) -> GraphBuilder"))
        .def("close", method(&close_object<core::stream>), docs::stream_close,
             nb::sig("def close(self) -> None"))
        .def(
            "__enter__", [](nb::object self) { return self; },
            nb::sig("def __enter__(self) -> Self"))
        .def("__exit__", method(+[](py_stream& self, nb::args) { close_object(self); }),
             nb::sig(docs::exit_sig))
        .def("__cuda_stream__", method(+[](py_stream& self) {
                 return nb::make_tuple(0, open_value(self, "Stream.__cuda_stream__"));
             }),
             docs::cuda_stream, nb::sig("def __cuda_stream__(self) -> tuple[int, int]"))
        .def("__repr__", method(+[](py_stream& self) { return repr(self, "Stream"); }))
        .def("__eq__", method(&stream_equals), "other"_a.none(),
             nb::sig("def __eq__(self, other: object, /) -> bool"))
        .def("__hash__", method(&stream_hash), nb::sig("def __hash__(self) -> int"))
        .def_prop_ro("handle",
                     method(+[](py_stream& self) { return open_value(self, "Stream.handle"); }),
                     docs::stream_handle)
        .def_prop_ro("device_id", method(&stream_device), docs::stream_device_id)
        .def_prop_ro("is_closed", method(&is_closed<core::stream>), docs::is_closed);
    own_streams = {reinterpret_cast<PyTypeObject*>(cls.ptr()), &stream_inside};
    cls.attr("__module__") = "hostlaunch";
}

}  // namespace hostlaunch::python
