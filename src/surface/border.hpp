// SPDX-License-Identifier: Apache-2.0
// The border between the public C++ classes and the core: views to targets, statuses to exceptions.
#pragma once

#include "core/objects.hpp"
#include "core/process.hpp"
#include "hostlaunch/stream.hpp"

namespace hostlaunch {

inline abi::stream raw(stream_ref stream) noexcept {
    return reinterpret_cast<abi::stream>(stream.handle());
}

// Calls f(target) while the stream's owner, if the view has one, cannot be destroyed.
template <class F>
core::status on_stream(stream_ref stream, F&& f) {
    core::stream* owner = stream.owner();
    if (stream.is_empty()) return core::refuse(misuse::closed);
    if (owner == nullptr) return f(core::stream_target{raw(stream), nullptr, -1});
    const core::handle::use use(owner->guard());
    return use ? f(owner->target()) : core::refuse(misuse::closed);
}

// Calls f(object) while the object cannot be destroyed; throws what fails.
template <class Object, class F>
void use_object(Object& object, const char* attempted, F&& f) {
    core::throw_if_failed(core::enter_driver(), attempted);
    const core::handle::use use(object.guard());
    core::throw_if_failed(use ? f(object) : core::refuse(misuse::closed), attempted);
}

}  // namespace hostlaunch
