// SPDX-License-Identifier: Apache-2.0
// A host function of graphs: one record that runs any number of times until no graph holds it.
//
// A CUDA user object owns the record; graphs, their clones, executables and launches in flight hold
// references to it. Its destructor runs once nothing can run the function any more, on the thread
// whose call dropped the last reference or on one of the driver's, and only pushes the record onto
// the release list. Two executables of one graph can run one function at once.
#pragma once

#include "core/record.hpp"
#include "core/status.hpp"
#include "driver/abi.hpp"

namespace hostlaunch::core {

// What a host node is given. A gated one gets its record's token instead of user_data.
struct host_call {
    abi::host_fn fn = nullptr;
    void* user_data = nullptr;
    bool gated = true;
};

// The record behind a token while graphs hold it, else null. On the driver's thread.
record* held_by_graphs(token t) noexcept;

// The host function that ends a user object; user_data is the record's token. Any thread, also
// inside a driver call of the caller's own.
extern "C" void hostlaunch_graph_release(void* user_data);

// What adding a host function to a graph came to. After a failure with `owns_payload` the caller
// destroys the payload and then calls let_go; without it the record is out of its hands.
struct [[nodiscard]] added {
    core::status status;
    bool owns_payload = true;
};

// A record that a graph holds: by this user object, of which the graph has the only reference.
struct held_record {
    token t = 0;
    abi::user_object object = nullptr;
    host_call call;  // for the node: a gated function's trampoline is called with the token
};

// Moves a filled record from free to attached, and has the graph hold it. `out` counts on success
// only; after a failure no graph refers to the record. requires: the caller owns the record.
added give_to_graph(record& r, const host_call& call, abi::graph graph, held_record* out) noexcept;

// After the driver refused the node: the payload becomes the caller's again, although a graph still
// refers to the record, unless the graph has died meanwhile and the record awaits release.
added take_back(record& r, token t, status why) noexcept;

// Second step of taking back, once the payload is destroyed: the record is recycled by whoever of
// the caller and the driver lets go last.
void let_go(record& r) noexcept;

// Counts one run; `outcome` is ran or raised.
void count_graph_run(state outcome) noexcept;

// A record for values that a run leaves behind, which must be released elsewhere than on the
// driver's thread; null if there is no memory. Fill its payload, then push_left_behind.
record* acquire_left_behind() noexcept;
void push_left_behind(record& r) noexcept;

}  // namespace hostlaunch::core
