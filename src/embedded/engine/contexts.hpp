// SPDX-License-Identifier: Apache-2.0
// Contexts, and the handles of what belongs to them. requires the driver's mutex everywhere.
#pragma once

#include "embedded/engine/driver.hpp"

namespace hostlaunch::embedded {

// Null on failure; `why` then is INVALID_CONTEXT, INVALID_HANDLE or CONTEXT_IS_DESTROYED.
context_state* current_context(result& why);
context_state* find_context(context ctx, result& why);
event_state* find_event(event e, result& why);
graph_state* find_graph(graph g, result& why);

// Resolves the default-stream tokens too, against the current context.
stream_state* find_stream(stream s, result& why);

context_state& create_context(device dev, unsigned flags, bool primary);

// Waits until all work of the context is done, then ends the context and everything in it; the
// handles say CONTEXT_IS_DESTROYED from then on. False if another thread was faster.
bool destroy_context(lock& held, context handle, object_list& due);

stream_state& create_stream(context_state& ctx, unsigned flags, int priority);
void destroy_stream(stream_state& s, object_list& due);
event_state& create_event(context_state& ctx, unsigned flags);
void destroy_event(event_state& e);

}  // namespace hostlaunch::embedded
