// SPDX-License-Identifier: Apache-2.0
// What the methods of the classes are given: numbers, names, instances and streams.
#pragma once

#include <nanobind/nanobind.h>

#include "arguments/stream_argument.hpp"
#include "cpython/python.hpp"

namespace hostlaunch::python {

// TypeError: `argument` is not of the class, or __new__ made it and no __init__ has run.
[[noreturn]] void refuse_instance(nanobind::handle object, nanobind::handle type,
                                  const char* argument);

// The T inside an instance of its class, which the argument must be.
template <class T>
T& instance_of(nanobind::handle object, const char* argument) {
    if (!nanobind::isinstance<T>(object) || !nanobind::inst_ready(object)) {
        refuse_instance(object, nanobind::type<T>(), argument);
    }
    return *nanobind::inst_ptr<T>(object);
}

// The int that the argument stands for. TypeError if it stands for none.
nanobind::object int_of(nanobind::handle value, const char* name);

// Throws `type` with "TEXT, not VALUE".
[[noreturn]] void refuse_value(PyObject* type, const char* text, nanobind::handle value);

// The same for its value. Out of range of int: ValueError.
int int_argument(nanobind::handle value, const char* name);

// A device's ordinal, -1 for None. Negative: ValueError.
int device_argument(nanobind::handle device_id);

// TypeError unless the argument is a str.
void require_str(nanobind::handle value, const char* name);

// Parses a stream argument, which must be open, and enters the driver.
stream_argument stream_from(nanobind::handle object, const char* attempted,
                            const stream_role& role = ordinary_stream);

}  // namespace hostlaunch::python
