// SPDX-License-Identifier: Apache-2.0
// The functions of src/diagnosis with Python's errors, and the names of what is pending.
#include "tasks/diagnosis.hpp"

#include <errno.h>

#include <cmath>
#include <vector>

#include "arguments/named_function.hpp"
#include "core/process/monitor.hpp"
#include "core/routes/route.hpp"
#include "core/task/task_notes.hpp"
#include "core/task/unfinished.hpp"
#include "cpython/python.hpp"
#include "cpython/stacks.hpp"
#include "diagnosis/start.hpp"
#include "diagnosis/trace_file.hpp"
#include "diagnosis/watchdog.hpp"
#include "tasks/names.hpp"
#include "tasks/payload.hpp"

namespace nb = nanobind;

namespace hostlaunch::python {
namespace {

void require(bool done) {
    if (!done) throw nb::python_error();
}

// The environment's watchdog: the driver is loaded by a thread that has let go of the GIL.
void prepare_for_environment(int file) noexcept {
    const PyGILState_STATE state = PyGILState_Ensure();
    if (!prepare_stacks(file)) PyErr_Clear();  // then a report has no stacks
    PyGILState_Release(state);
}

void raise_os_error(int error, nb::object path) {
    errno = error;
    PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path.ptr());
    throw nb::python_error();
}

void start_trace(nb::bytes path) {
    const auto begun = without_gil([&] { return diagnosis::start_trace(path.c_str()); });
    if (begun.error == EBUSY) {
        PyErr_SetString(PyExc_RuntimeError, "trace: another trace is being written");
        throw nb::python_error();
    }
    if (begun.error != 0) raise_os_error(begun.error, nb::steal(decoded(path.c_str()).release()));
}

nb::tuple stop_trace(nb::bytes path) {
    const auto ended = without_gil([] { return diagnosis::stop_trace(); });
    if (ended.error != 0) raise_os_error(ended.error, nb::steal(decoded(path.c_str()).release()));
    return nb::make_tuple(ended.events, ended.lost);
}

// requires: attached, and with a GIL, so that what is unfinished now keeps its payload until this
// thread lets go: only a thread with the GIL releases any.
core::name_id name_of_unfinished(const core::unfinished& u) {
    if (u.name != core::no_name || !has_gil) return u.name;
    return has_payload(*u.of) ? name_of_payload(payload_of(*u.of)) : core::no_name;
}

struct pending_task {
    core::unfinished of;
    core::name_id name;
};

// Nothing in here lets go of the GIL or lets the collector run.
std::vector<pending_task> collect_pending() {
    std::vector<pending_task> found;
    core::for_each_unfinished(
        [&found](const core::unfinished& u) { found.push_back({u, name_of_unfinished(u)}); });
    return found;
}

// What was launched before anybody watched gets its name now.
void name_what_is_pending() {
    for (const auto& [u, name] : collect_pending())
        core::note_name(u.t, name);
}

// The file descriptor stays open as long as the process lives: a report may be under way.
void set_watchdog(double seconds, int file) {
    if (seconds > 0) {
        require(prepare_stacks(file));
        name_what_is_pending();
    }
    const std::chrono::nanoseconds limit(std::llround(seconds * 1e9));
    if (without_gil([&] { return diagnosis::set_watchdog(limit, file); })) return;
    PyErr_SetString(PyExc_RuntimeError,
                    "watchdog: no thread can be started here (a forked child has none)");
    throw nb::python_error();
}

double age_of(const core::unfinished& u, std::uint32_t clock) {
    const std::uint32_t age = clock - u.launched_at;
    const bool fresh = age >= std::uint32_t{1} << 31;  // the clock had not gone on
    return fresh ? 0.0 : age / 1000.0;
}

nb::list list_pending() {
    const std::vector<pending_task> found = collect_pending();
    const std::uint32_t clock = core::monitor::coarse_now();
    nb::list tasks;
    for (const auto& [u, name] : found) {
        tasks.append(nb::make_tuple(core::text_of(name), u.stream,
                                    u.route != nullptr ? u.route->name : "driver thread", u.runs,
                                    age_of(u, clock)));
    }
    return tasks;
}

}  // namespace

void bind_diagnosis(nb::module_& m) {
    diagnosis::start_when_loaded();
    diagnosis::set_teller(&tell_threads);
    diagnosis::set_preparation(&prepare_for_environment);
    m.def("_set_watchdog", &set_watchdog, nb::sig("def _set_watchdog(seconds, file)"));
    m.def("_start_trace", &start_trace, nb::sig("def _start_trace(path)"));
    m.def("_stop_trace", &stop_trace, nb::sig("def _stop_trace(path)"));
    m.def("_pending", &list_pending);
    m.def(
        "_set_named_type", [](nb::handle type) { set_named_type(type.ptr()); },
        nb::sig("def _set_named_type(named)"));
}

}  // namespace hostlaunch::python
