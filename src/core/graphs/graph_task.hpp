// SPDX-License-Identifier: Apache-2.0
// A host function of graphs: one record that runs any number of times until no graph holds it.
//
// A CUDA user object owns the record; graphs, their clones, executables and launches in flight hold
// references to it. Its destructor runs once nothing can run the function any more, on the thread
// whose call dropped the last reference or on one of the driver's, and only pushes the record onto
// the release list. Two executables of one graph can run one function at once.
#pragma once

#include "core/status.hpp"
#include "core/task/record.hpp"
#include "core/task/run.hpp"
#include "driver/abi.hpp"

namespace hostlaunch::core {

// What a host node is given: our trampoline with the record's token, or native code with its data.
struct host_call {
    abi::host_fn fn = &hostlaunch_graph_call;
    void* user_data = nullptr;
    bool gated = true;
};

// The host function that ends a user object; user_data is the record's token. Any thread, also
// inside a driver call of the caller's own.
extern "C" void hostlaunch_graph_release(void* user_data);

// What adding a host function to a graph came to. After a failure the caller discards the record,
// if it owns the payload; without that the record is out of its hands.
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

// Moves a filled record from free to in_graph, and has the graph hold it. `out` counts on success
// only; after a failure no graph refers to the record. requires: the caller owns the record.
added give_to_graph(record& r, const host_call& call, abi::graph graph, held_record* out) noexcept;

// After the driver refused the node: the payload becomes the caller's again, although a graph still
// refers to the record, unless the graph has died meanwhile and the record awaits release.
added take_back(record& r, token t, status why) noexcept;

// Second step of taking back, once the payload is destroyed: the record is recycled by whoever of
// the caller and the driver lets go last.
void release_claim(record& r) noexcept;

// The undo of adding, whatever it came to: does nothing after a success. requires: attached, for a
// type of Python's.
void discard(record& r, const added& made) noexcept;

}  // namespace hostlaunch::core
