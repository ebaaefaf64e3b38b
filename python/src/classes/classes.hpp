// SPDX-License-Identifier: Apache-2.0
// Finding the core stream inside a Python object.
#pragma once

#include <nanobind/nanobind.h>

#include "core/graph_builder.hpp"
#include "core/objects.hpp"
#include "cpython/python.hpp"

namespace hostlaunch::python {

// The core stream inside a hostlaunch.Stream, or null (no exception set) for any other object and
// for one whose __init__ has not run.
core::stream* own_stream(PyObject* object) noexcept;

// The core builder inside a hostlaunch.GraphBuilder, or null as above.
core::graph_builder* own_builder(PyObject* object) noexcept;

// Stream.create_graph_builder, for bind_stream.
nanobind::object create_graph_builder(nanobind::handle stream);

}  // namespace hostlaunch::python
