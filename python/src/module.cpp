// SPDX-License-Identifier: Apache-2.0
// The extension module hostlaunch._native.
#include <nanobind/nanobind.h>

#include "arguments/errors.hpp"
#include "arguments/function_argument.hpp"
#include "arguments/stream_argument.hpp"
#include "classes/buffer.hpp"
#include "classes/event.hpp"
#include "classes/graphs.hpp"
#include "classes/stream.hpp"
#include "core/lifecycle.hpp"
#include "core/task/outcomes.hpp"
#include "cpython/attach.hpp"
#include "cpython/attributes.hpp"
#include "cpython/main_thread.hpp"
#include "cpython/module_guard.hpp"
#include "cpython/python.hpp"
#include "cpython/signatures.hpp"
#include "import_once.hpp"
#include "tasks/diagnosis.hpp"
#include "tasks/exit.hpp"
#include "tasks/future.hpp"
#include "tasks/host_launch.hpp"
#include "tasks/lost_interrupt.hpp"
#include "tasks/names.hpp"
#include "tasks/release.hpp"
#include "tasks/submit.hpp"

namespace nb = nanobind;

namespace hostlaunch::python {
namespace {

void require(bool done) {
    if (!done) throw nb::python_error();
}

// What is refused, and what may run Python code, comes before nanobind hears of the import: a
// Ctrl-C there is passed on as it is, and leaves nothing behind that a second try minds. One
// interpreter owns the payloads, the thread states and nanobind's state: contract X4.
int begin_import(PyObject* module) {
    if (!in_main_interpreter()) {
        PyErr_SetString(PyExc_ImportError,
                        "hostlaunch does not support subinterpreters: import it in the main one");
        return -1;
    }
    const bool begun = may_import(module) && init_names() && init_errors() &&
                       init_function_argument() && init_stream_argument() &&
                       init_lost_interrupt() && init_names_of_functions() && init_future() &&
                       init_exit(module);
    return begun ? 0 : -1;
}

nb::tuple read_stats() {
    const launch_stats s = without_gil([] { return core::read_stats(); });
    return nb::make_tuple(s.accepted, s.pending, s.running, s.ran, s.raised, s.abandoned, s.dropped,
                          s.cancelled, s.awaiting_release, s.oldest_pending_ms, s.graph_callbacks,
                          s.graph_ran, s.graph_raised);
}

nb::tuple read_driver() {
    // The warning, if any, belongs to the caller of hostlaunch.driver.
    if (!core::has_driver() && !enter_driver("driver()", 2)) throw nb::python_error();
    const driver_info in_use = core::driver_in_use();
    owned path = decoded(in_use.path);
    require(static_cast<bool>(path));
    return nb::make_tuple(in_use.name.c_str(), in_use.version, nb::steal(path.release()));
}

// What `python -m hostlaunch` tells; with the driver loaded.
nb::object read_fallback_reason() {
    return nb::steal(decoded(core::driver_in_use().fallback_reason).release());
}

// A setting as the library reads it: None if it is unset, empty or not to be trusted.
nb::object read_setting(const char* name) {
    const char* said = core::setting(name);
    return said == nullptr ? nb::none() : nb::steal(decoded(said).release());
}

const char* read_build() {
#ifdef __clang__
    return "clang++ " __clang_version__;
#else
    return "g++ " __VERSION__;
#endif
}

// The types of a function, of a method and of a bound method are told by one of each.
void set_signatures(nb::handle function, nb::handle method, nb::handle bound,
                    nb::handle of_function, nb::handle of_bound_method) {
    require(add_signature_property(function.ptr(), of_function.ptr()) &&
            add_signature_property(method.ptr(), of_function.ptr()) &&
            add_signature_property(bound.ptr(), of_bound_method.ptr()));
}

}  // namespace
}  // namespace hostlaunch::python

// Behind PyInit__native, and after begin_import.
NB_MODULE(_classes, m) {
    using namespace hostlaunch::python;
    // Objects may rightly outlive the interpreter: payloads of functions dropped at exit.
    nb::set_leak_warnings(false);
    m.doc() = "Native part of hostlaunch; use the package.";
    if (joins_first_import(m.ptr())) return;
    init_attach();
    init_release();
    bind_event(m);
    bind_stream(m);
    bind_buffer(m);
    bind_graphs(m);
    require(add_host_launch(m.ptr()));
    require(add_future(m.ptr()));
    require(add_submit(m.ptr()));
    bind_diagnosis(m);
    m.attr("__version__") = HOSTLAUNCH_VERSION;
    m.def("_stats", &read_stats);
    m.def("_driver", &read_driver);
    m.def("_set_signatures", &set_signatures,
          nb::sig("def _set_signatures(function, method, bound, of_function, of_bound_method) -> "
                  "None"));
    m.def("_imported", &finish_import);
    m.def("_fallback_reason", &read_fallback_reason);
    m.def("_setting", &read_setting, nb::sig("def _setting(name) -> str | None"));
    m.def("_build", &read_build);
    require(remember_import(m.ptr()));
}

extern "C" NB_EXPORT PyObject* PyInit__native() {
    using namespace hostlaunch::python;
    static PyObject* definition = nullptr;
    // CPython may call this in the main interpreter for another one: check_first looks again.
    if (!in_main_interpreter() && begin_import(nullptr) != 0) return nullptr;
    if (definition == nullptr) definition = check_first(PyInit__classes(), &begin_import);
    return definition;
}
