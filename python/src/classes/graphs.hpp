// SPDX-License-Identifier: Apache-2.0
// GraphBuilder, Graph and GraphNode as Python classes.
#pragma once

#include <nanobind/nanobind.h>

namespace hostlaunch::python {

// Stream.create_graph_builder.
nanobind::object create_graph_builder(nanobind::handle stream);

void bind_graphs(nanobind::module_& m);

}  // namespace hostlaunch::python
