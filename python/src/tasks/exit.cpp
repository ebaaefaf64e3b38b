// SPDX-License-Identifier: Apache-2.0
// Interpreter exit: refuse launches, wait bounded for what is pending, close the gate, drop the
// rest, release, warn once.
//
// Runs as an atexit callback: non-daemon threads have ended, the interpreter is whole, and
// callbacks registered after our import have run. Those registered before it run later: launches
// raise then, sync and close still work.
#include "tasks/exit.hpp"

#include <chrono>
#include <thread>

#include "core/lifecycle.hpp"
#include "core/routes/routes.hpp"
#include "core/task/release.hpp"
#include "cpython/attach.hpp"
#include "cpython/exceptions.hpp"
#include "tasks/release.hpp"

namespace hostlaunch::python {
namespace {

// Ctrl-C during the wait has its effect, which is to end it. What else a signal's handler raises is
// told: a program that wanted to end in another way learns that it did not.
void tell_what_ended_the_wait() {
    if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) != 0) {
        PyErr_Clear();
        return;
    }
    PyObject* raised = take_exception();
    const owned where(PyUnicode_FromString("the exit handler of hostlaunch"));
    restore_exception(raised);
    PyErr_WriteUnraisable(where.get());
}

// Waits detached while `still` says so, so that the functions waited for can run. False if an
// exception of a signal's handler ended the wait.
template <class Deadline>
bool wait_while(bool (*still)() noexcept, const Deadline& deadline) {
    bool undisturbed = true;
    core::lifecycle::wait_until(deadline, [&](std::chrono::milliseconds pause) {
        const bool goes_on = without_gil([still, pause] {
            core::routes::look(false);
            if (!still()) return false;
            std::this_thread::sleep_for(pause);
            return true;
        });
        if (PyErr_CheckSignals() == 0) return goes_on;
        tell_what_ended_the_wait();
        return undisturbed = false;
    });
    return undisturbed;
}

void let_run_and_close() {
    const auto deadline = core::lifecycle::exit_deadline();
    const bool undisturbed = wait_while(core::lifecycle::still_pending, deadline);
    core::lifecycle::close();
    if (undisturbed) wait_while(core::lifecycle::still_running, deadline);
}

// Shown by default: to lose what a program has launched is no matter of tidiness.
void warn(unsigned long long dropped) {
    if (dropped == 0) return;
    const int failed = PyErr_WarnFormat(
        PyExc_RuntimeWarning, 1,
        "hostlaunch: %llu host function%s had not finished at interpreter exit and %s dropped; "
        "synchronise the streams before exiting, or set HOSTLAUNCH_EXIT_TIMEOUT to wait longer",
        dropped, dropped == 1 ? "" : "s", dropped == 1 ? "was" : "were");
    if (failed != 0) PyErr_WriteUnraisable(nullptr);
}

// Returns how many were dropped.
unsigned long long drop_and_release() {
    const auto dropped = without_gil([] { return core::lifecycle::drop_rest(); });
    release_at_exit();
    return core::forked() ? 0 : dropped;  // what a finalizer forked tells nothing
}

PyObject* at_exit(PyObject*, PyObject*) {
    core::lifecycle::refuse();
    if (!core::forked()) let_run_and_close();
    core::lifecycle::close();
    if (core::forked()) Py_RETURN_NONE;  // perhaps only since a signal's handler forked
    warn(drop_and_release());
    Py_RETURN_NONE;
}

// Plain stores only: the interpreter is not usable here.
void in_forked_child() {
    forget_release();
}

PyMethodDef at_exit_definition = {"_at_exit", &at_exit, METH_NOARGS, nullptr};

}  // namespace

bool init_exit(PyObject* module) {
    static bool registered = false;  // an import that is tried again comes here again
    if (registered) return true;
    const owned atexit(PyImport_ImportModule("atexit"));
    if (!atexit) return false;
    const owned handler(PyCFunction_New(&at_exit_definition, nullptr));
    if (!handler) return false;
    const owned done(PyObject_CallMethod(atexit.get(), "register", "O", handler.get()));
    if (!done || PyModule_AddObjectRef(module, "_at_exit", handler.get()) != 0) return false;
    core::on_fork_child(&in_forked_child);
    registered = true;
    return true;
}

}  // namespace hostlaunch::python
