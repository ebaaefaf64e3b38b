// SPDX-License-Identifier: Apache-2.0
// The rules for the stream argument: contract S1 to S6.
#pragma once

#include "core/objects.hpp"
#include "python.hpp"

namespace hostlaunch::python {

// A stream as an argument names it; borrowed from the arguments of the call.
struct stream_argument {
    PyObject* builder = nullptr;  // a graph builder: forward to it, nothing else is filled
    core::stream* own = nullptr;  // the stream inside a hostlaunch.Stream
    core::stream_target target;
};

// Recognises the argument and reads its handle. False with TypeError, or with what its methods
// raised. requires: attached. Runs Python code of foreign types.
bool parse_stream(PyObject* object, stream_argument& out);

// Reads the stream that a builder captures, for calls that are captured like any work on it.
bool parse_builder_stream(PyObject* builder, stream_argument& out);

// Refuses a closed stream, ours or foreign. False with RuntimeError.
bool require_open(PyObject* object, const stream_argument& stream, const char* attempted);

// Calls f(target) detached, while our own stream, if it is one, cannot be destroyed.
template <class F>
core::status on_stream(const stream_argument& stream, F&& f) {
    return without_gil([&]() -> core::status {
        if (stream.own == nullptr) return f(stream.target);
        const core::handle::use use(stream.own->guard());
        return use ? f(stream.target) : core::refuse(misuse::closed);
    });
}

bool init_stream_argument();

}  // namespace hostlaunch::python
