// SPDX-License-Identifier: Apache-2.0
// Event as a Python class over the core's.
#include "classes/event.hpp"

#include "classes/class_docs.hpp"
#include "classes/holder.hpp"
#include "classes/waits.hpp"
#include "core/routes/routes.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hostlaunch::python {
namespace {

core::status wait_piece(core::event& e, core::wait_clock::time_point deadline, core::waited* how) {
    if (const core::status s = core::may_block(); !s.ok()) return s;
    const core::status s = core::wait_a_while(e, deadline, how);
    return *how == core::waited::done ? core::routes::settle_after(s) : s;
}

void event_sync(py_event& self, nb::handle timeout, nb::handle blocking) {
    constexpr const char* attempted = "Event.sync";
    const wait_choice choice = wait_choice_of(timeout, blocking);
    wait_and_release([&] {
        // Made asleep-able by the setting alone: with `blocking` it is asked after between naps.
        if (!choice.deadline && (!choice.asleep || core::blocking_by_default())) {
            use_object(self, attempted,
                       [](core::event& e) { return core::routes::settle_after(e.sync()); });
            return;
        }
        const auto deadline = choice.deadline.value_or(core::wait_clock::time_point::max());
        wait_in_pieces(choice, attempted, [&](core::waited* how) {
            use_object(self, attempted,
                       [&](core::event& e) { return wait_piece(e, deadline, how); });
        });
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
    cls.def("sync", method(&event_sync), "timeout"_a.none() = nb::none(), nb::kw_only(),
            "blocking"_a.none() = nb::none(), docs::event_sync, nb::sig(docs::sync_sig))
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
