// SPDX-License-Identifier: Apache-2.0
// What Stream, Event and Buffer share: how a core object lives in a Python one.
//
// A method checks that it may enter the driver, detaches for the call, and keeps the object in use
// meanwhile, so that a close on another thread destroys it afterwards. Objects that die hand their
// driver call to the core, which defers it when the thread runs a host function. A header alone:
// all of it are templates.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdio>
#include <memory>
#include <utility>

#include "arguments/errors.hpp"
#include "classes/values.hpp"
#include "core/objects/buffer.hpp"
#include "core/objects/event.hpp"
#include "core/objects/stream.hpp"
#include "cpython/python.hpp"

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

// What messages call an object.
template <class Object>
inline constexpr const char* name_of = nullptr;
template <>
inline constexpr const char* name_of<core::stream> = "stream";
template <>
inline constexpr const char* name_of<core::event> = "event";
template <>
inline constexpr const char* name_of<core::buffer> = "buffer";

// Makes a method of f(T&, args...) that refuses another `self` in the same words.
template <class R, class T, class... Args>
auto method(R (*f)(T&, Args...)) {
    return [f](nanobind::handle self, Args... args) -> R {
        return f(instance_of<T>(self, "self"), std::forward<Args>(args)...);
    };
}

// Runs f(object) detached while the object is in use. `role`: how a refusal names a closed one.
template <class Object, class F>
void use_object(holder<Object>& self, const char* attempted, F&& f,
                const char* role = name_of<Object>) {
    enter(attempted);
    const core::status s = without_gil([&]() -> core::status {
        const core::handle::use use(self.object->guard());
        return use ? f(*self.object) : core::refuse_closed(role);
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

// The handle, which a closed object refuses to tell: the driver may use it again.
template <class Object>
std::uint64_t open_value(holder<Object>& self, const char* attempted) {
    if (self.object->is_closed()) throw_status(core::refuse_closed(name_of<Object>), attempted);
    return raw_value(self);
}

inline nanobind::str repr_of(const char* name, std::uint64_t handle, bool closed) {
    char text[96];
    std::snprintf(text, sizeof text, "<hostlaunch.%s 0x%llx%s>", name,
                  static_cast<unsigned long long>(handle), closed ? " closed" : "");
    return nanobind::str(text);
}

template <class Object>
nanobind::str repr(holder<Object>& self, const char* name) {
    return repr_of(name, raw_value(self), is_closed(self));
}

// For classes whose objects come from elsewhere: calling the class says where from.
template <class T>
void refuse_calls(nanobind::class_<T>& cls, const char* instead) {
    cls.def(
        "__init__",
        [instead](T*, const nanobind::args&, const nanobind::kwargs&) {
            throw nanobind::type_error(instead);
        },
        nanobind::sig("def __init__(self) -> None"));
}

}  // namespace hostlaunch::python
