// SPDX-License-Identifier: Apache-2.0
// What Stream, Event and Buffer share: how a core object lives in a Python one.
//
// A method checks that it may enter the driver, detaches for the call, and keeps the object in use
// meanwhile, so that a close on another thread destroys it afterwards. Objects that die hand their
// driver call to the core, which defers it when the thread runs a host function.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdio>
#include <memory>

#include "core/as_is.hpp"
#include "core/objects.hpp"
#include "errors.hpp"
#include "python.hpp"

namespace hostlaunch::python {

// A core object that is closed, with the interpreter detached, when its Python object dies.
template <class Object>
struct holder {
    std::shared_ptr<Object> object;  // a stream is shared with its graph builders

    explicit holder(std::shared_ptr<Object> o) noexcept : object(std::move(o)) {}
    holder(holder&&) noexcept = default;
    ~holder() {
        if (object == nullptr) return;
        without_gil([this] {
            object->close();
            object.reset();
            return 0;
        });
    }
};

using py_stream = holder<core::stream>;
using py_event = holder<core::event>;
using py_buffer = holder<core::buffer>;

inline void throw_status(core::status s, const char* attempted) {
    if (s.ok()) return;
    set_error(s, attempted);
    throw nanobind::python_error();
}

inline void enter(const char* attempted) {
    if (!enter_driver(attempted)) throw nanobind::python_error();
}

// Runs f(object) detached while the object is in use.
template <class Object, class F>
void use_object(holder<Object>& self, const char* attempted, F&& f) {
    enter(attempted);
    const core::status s = without_gil([&]() -> core::status {
        const core::handle::use use(self.object->guard());
        return use ? f(*self.object) : core::refuse(misuse::closed);
    });
    throw_status(s, attempted);
}

template <class Object>
void close_object(holder<Object>& self) {
    without_gil([&self] {
        self.object->close();
        return 0;
    });
}

template <class Object>
std::uint64_t raw_value(holder<Object>& self) {
    return self.object->guard().value();
}

template <class Object>
bool is_closed(holder<Object>& self) {
    return self.object->is_closed();
}

template <class Object>
nanobind::str repr(holder<Object>& self, const char* name) {
    char text[96];
    std::snprintf(text, sizeof text, "<hostlaunch.%s 0x%llx%s>", name,
                  static_cast<unsigned long long>(raw_value(self)),
                  is_closed(self) ? " closed" : "");
    return nanobind::str(text);
}

// An int argument; TypeError names it otherwise. Out of range of int: ValueError.
int int_argument(nanobind::handle value, const char* name);

// Parses a stream argument that must be an open stream, not a builder, and enters the driver.
struct stream_argument;
stream_argument stream_from(nanobind::handle object, const char* attempted);

void bind_stream(nanobind::module_& m);
void bind_event(nanobind::module_& m);
void bind_buffer(nanobind::module_& m);
void bind_graphs(nanobind::module_& m);

}  // namespace hostlaunch::python
