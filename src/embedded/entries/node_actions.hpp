// SPDX-License-Identifier: Apache-2.0
// What a node is told to do, from the parameters of the calls that add it or change it.
//
// Each returns SUCCESS, or what is wrong with the parameters. requires the driver's mutex.
#pragma once

#include "embedded/engine/graphs.hpp"

namespace hostlaunch::embedded {

result action_of(const host_node_params* params, node_action& out);
result action_of(const copy_params* params, node_action& out);
result action_of(const fill_params* params, node_action& out);
result action_of(const batch_params* params, node_action& out);
result event_action(node_kind kind, event e, node_action& out);

// Allocates, and says where.
result allocate_action(allocation_params* params, node_action& out);
result free_action(device_ptr memory, node_action& out);

// Of any kind but a child graph.
result action_of(node_params& params, node_action& out);

// A child graph that the node gets a copy of.
result child_of(const child_params& params, node_state& node);

}  // namespace hostlaunch::embedded
