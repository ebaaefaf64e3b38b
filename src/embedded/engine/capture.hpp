// SPDX-License-Identifier: Apache-2.0
// Stream capture: what is recorded instead of run, and which calls a capture forbids.
//
// requires the driver's mutex everywhere. The rules are those of the CUDA programming guide, where
// h200.md measured nothing else.
#pragma once

#include "embedded/engine/graphs.hpp"

namespace hostlaunch::embedded {

// Runs the work in stream order, or records it if the stream is capturing.
result enqueue(lock& held, stream_state& s, const work& what);

// The same for waits and writes that stand together, in a context.
result enqueue_values(lock& held, stream_state& s, context ctx, const value_params* values,
                      std::size_t count);

// Events in streams, capturing or not.
result record_event(lock& held, stream_state& s, event_state& e, bool external);
result wait_event(lock& held, stream_state& s, event_state& e, bool external);

// Records an action as a node. requires: the stream captures, and nothing refuses that
void record_node(stream_state& s, node_action action);

// Into a graph of the caller's if one is given, behind these nodes of it.
result begin_capture(stream_state& s, capture_mode mode, graph_state* into = nullptr,
                     const std::vector<node_state*>& behind = {});
// Whatever it returns but UNMATCHED, the capture has ended.
result end_capture(stream_state& s, graph* out, object_list& due);

// What the next captured work depends on, beside or instead of what it did.
result set_dependencies(stream_state& s, const std::vector<node_state*>& nodes, bool replace);

// NONE for a stream that does not capture; IMPLICIT for the legacy stream while a blocking stream
// of its context captures, which leaves that capture alone.
result capture_status_of(const stream_state& s, capture_status& status);

// The stream is destroyed, perhaps in the middle of a capture. One that has been joined may go;
// what it recorded has to be joined at the end all the same.
void leave_capture(stream_state& s, object_list& due);
// The stream's context goes away: what the stream takes part in becomes invalid.
void abandon_capture(stream_state& s, object_list& due);

// Each returns `success` if no capture forbids the call; else the captures in its way become
// invalid.
result refuse_work(const stream_state& s);       // new work: recorded, or run
result refuse_unsafe();                          // by the mode table; allocation, say
result refuse_legacy(const context_state& ctx);  // use of the legacy stream
result refuse_wait(const stream_state& s);       // synchronising with or querying a stream
result refuse_launch(const stream_state& s);     // of a graph
result refuse_context_wait(const context_state& ctx);
result refuse_event_wait(const event_state& e);

}  // namespace hostlaunch::embedded
