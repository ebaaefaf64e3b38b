// SPDX-License-Identifier: Apache-2.0
// The extension module hostlaunch._native.
#include <nanobind/nanobind.h>

#include <atomic>
#include <stdexcept>

#include "arguments/errors.hpp"
#include "arguments/function_argument.hpp"
#include "arguments/stream_argument.hpp"
#include "classes/buffer.hpp"
#include "classes/event.hpp"
#include "classes/graphs.hpp"
#include "classes/stream.hpp"
#include "core/outcomes.hpp"
#include "cpython/attach.hpp"
#include "cpython/attributes.hpp"
#include "cpython/main_thread.hpp"
#include "cpython/module_guard.hpp"
#include "cpython/python.hpp"
#include "driver/driver.hpp"
#include "tasks/exit.hpp"
#include "tasks/host_launch.hpp"
#include "tasks/release.hpp"

namespace nb = nanobind;

namespace hostlaunch::python {
namespace {

void require(bool done) {
    if (!done) throw nb::python_error();
}

// One interpreter owns the payloads, the thread states and nanobind's state: contract X4.
int require_main_interpreter(PyObject*) {
    if (in_main_interpreter()) return 0;
    PyErr_SetString(PyExc_ImportError,
                    "hostlaunch does not support subinterpreters: import it in the main one");
    return -1;
}

// The classes, the release list and the exit handler belong to the first module object.
void require_first_import() {
    static std::atomic<bool> imported{false};
    if (imported.exchange(true)) {
        throw std::runtime_error(
            "hostlaunch was imported before in this process and cannot be imported anew: its "
            "modules must stay in sys.modules");
    }
}

nb::tuple read_stats() {
    const launch_stats s = without_gil([] { return core::read_stats(); });
    return nb::make_tuple(s.accepted, s.pending, s.running, s.ran, s.raised, s.abandoned, s.dropped,
                          s.awaiting_release, s.oldest_pending_ms, s.graph_callbacks, s.graph_ran,
                          s.graph_raised);
}

nb::tuple read_driver() {
    // The warning, if any, belongs to the caller of hostlaunch.driver.
    if (!driver_library::is_loaded() && !enter_driver("driver()", 2)) throw nb::python_error();
    const driver_library::library& lib = driver_library::load();
    const char* name = lib.which == driver_library::kind::embedded ? "embedded" : "cuda";
    owned path = decoded(lib.path);
    require(static_cast<bool>(path));
    return nb::make_tuple(name, lib.version, nb::steal(path.release()));
}

}  // namespace
}  // namespace hostlaunch::python

// Behind PyInit__native: nanobind must not hear of an import that is refused.
NB_MODULE(_classes, m) {
    using namespace hostlaunch::python;
    // Objects may rightly outlive the interpreter: payloads of functions dropped at exit.
    nb::set_leak_warnings(false);
    m.doc() = "Native part of hostlaunch; use the package.";
    require_first_import();
    init_attach();
    require(init_names());
    require(init_errors());
    require(init_function_argument());
    require(init_stream_argument());
    init_release();
    bind_event(m);
    bind_stream(m);
    bind_buffer(m);
    bind_graphs(m);
    require(add_host_launch(m.ptr()));
    m.attr("__version__") = HOSTLAUNCH_VERSION;
    m.def("_stats", &read_stats);
    m.def("_driver", &read_driver);
    require(init_exit(m.ptr()));
}

extern "C" NB_EXPORT PyObject* PyInit__native() {
    using namespace hostlaunch::python;
    if (require_main_interpreter(nullptr) != 0) return nullptr;
    static PyObject* definition = nullptr;
    if (definition == nullptr) {
        definition = check_first(PyInit__classes(), &require_main_interpreter);
    }
    return definition;
}
