// SPDX-License-Identifier: Apache-2.0
// Finding the core stream inside a Python object.
#pragma once

#include <nanobind/nanobind.h>

#include "core/objects.hpp"
#include "python.hpp"

namespace hostlaunch::python {

// The core stream inside a hostlaunch.Stream, or null (no exception set) for any other object and
// for one whose __init__ has not run.
core::stream* own_stream(PyObject* object) noexcept;

// Stream.create_graph_builder, for bind_stream.
nanobind::object create_graph_builder(nanobind::handle stream);

}  // namespace hostlaunch::python
