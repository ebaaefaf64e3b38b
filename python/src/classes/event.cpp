// SPDX-License-Identifier: Apache-2.0
// Event as a Python class over the core's.
#include "classes/event.hpp"

#include "classes/class_docs.hpp"
#include "classes/holder.hpp"
#include "classes/waits.hpp"
#include "core/routes/routes.hpp"

namespace nb = nanobind;

namespace hostlaunch::python {
namespace {

void event_sync(py_event& self) {
    wait_and_release([&self] {
        use_object(self, "Event.sync",
                   [](core::event& e) { return core::routes::settle_after(e.sync()); });
    });
}

bool event_is_done(py_event& self) {
    bool done = false;
    use_object(self, "Event.is_done", [&](core::event& e) { return e.query(&done); });
    return done;
}

}  // namespace

void bind_event(nb::module_& m) {
    nb::class_<py_event> cls(m, "Event", docs::event, nb::is_weak_referenceable());
    refuse_calls(cls, "an Event is made by Stream.record()");
    cls.def("sync", method(&event_sync), docs::event_sync, nb::sig("def sync(self) -> None"))
        .def("close", method(&close_object<core::event>), docs::event_close,
             nb::sig("def close(self) -> None"))
        .def("__repr__", method(+[](py_event& self) { return repr(self, "Event"); }))
        .def_prop_ro("is_done", method(&event_is_done), docs::event_is_done)
        .def_prop_ro("handle",
                     method(+[](py_event& self) { return open_value(self, "Event.handle"); }),
                     docs::event_handle)
        .def_prop_ro("is_closed", method(&is_closed<core::event>), docs::is_closed);
    cls.attr("__module__") = "hostlaunch";
}

}  // namespace hostlaunch::python
