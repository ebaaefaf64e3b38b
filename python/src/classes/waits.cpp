// SPDX-License-Identifier: Apache-2.0
// The arguments of waits, and how a wait says that its time is over.
#include "classes/waits.hpp"

#include <cmath>

#include "cpython/references.hpp"

namespace nb = nanobind;

namespace hostlaunch::python {
namespace {

[[noreturn]] void refuse(PyObject* type, const char* text, nb::handle given) {
    PyErr_Format(type, text, given.ptr());
    throw nb::python_error();
}

double seconds_of(nb::handle timeout) {
    const bool number = PyFloat_Check(timeout.ptr()) != 0 || PyIndex_Check(timeout.ptr()) != 0;
    if (!number || PyBool_Check(timeout.ptr()) != 0)
        refuse(PyExc_TypeError, "timeout must be a number of seconds or None, not %R", timeout);
    const double seconds = PyFloat_AsDouble(timeout.ptr());
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
    if (std::isnan(seconds) || seconds < 0)
        refuse(PyExc_ValueError, "timeout must not be negative, and it is %R", timeout);
    return seconds;
}

}  // namespace

wait_choice wait_choice_of(nb::handle timeout, nb::handle blocking) {
    wait_choice made;
    if (!blocking.is_none() && PyBool_Check(blocking.ptr()) == 0)
        refuse(PyExc_TypeError, "blocking must be True, False or None, not %R", blocking);
    made.asleep = blocking.is_none() ? core::blocking_by_default() : blocking.ptr() == Py_True;
    if (timeout.is_none()) return made;
    made.seconds = seconds_of(timeout);
    made.deadline = core::wait_deadline(std::chrono::duration<double>(made.seconds));
    return made;
}

void raise_timeout(const wait_choice& choice, const char* attempted) {
    const nb::float_ seconds(choice.seconds);
    PyErr_Format(PyExc_TimeoutError,
                 "%s: the work was not done within %R s; it goes on, and may be waited for again",
                 attempted, seconds.ptr());
    throw nb::python_error();
}

}  // namespace hostlaunch::python
