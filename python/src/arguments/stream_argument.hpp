// SPDX-License-Identifier: Apache-2.0
// The rules for the stream argument: contract S1 to S6.
#pragma once

#include "core/objects/stream_use.hpp"
#include "cpython/python.hpp"

namespace hostlaunch::python {

// What a stream is in a call, for messages.
struct stream_role {
    const char* argument;  // the argument's name
    const char* also;      // what it may be besides a stream: "a hostlaunch.Event, "
    const char* name;      // of the stream, where it is closed
};
inline constexpr stream_role ordinary_stream{"stream", "", "stream"};

// A stream as an argument names it; borrowed from the arguments of the call.
struct stream_argument {
    PyObject* builder = nullptr;  // a graph builder: forward to it, nothing else is filled
    core::stream* own = nullptr;  // the stream inside a hostlaunch.Stream
    core::stream_target target;
    const stream_role* role = &ordinary_stream;

    // The stream in use, so that it cannot be destroyed during a call. requires: detached.
    core::stream_use use() const noexcept { return {own, target, role->name}; }
};

// Recognises the argument and reads its handle. False with TypeError, or with what its methods
// raised. requires: attached. Runs Python code of foreign types.
bool parse_stream(PyObject* object, stream_argument& out);

// Reads the stream that a builder captures, for calls that are captured like any work on it.
bool parse_builder_stream(PyObject* builder, stream_argument& out);

// Refuses a closed stream, ours or foreign. False with RuntimeError.
bool require_open(PyObject* object, const stream_argument& stream, const char* attempted);

bool init_stream_argument();

}  // namespace hostlaunch::python
