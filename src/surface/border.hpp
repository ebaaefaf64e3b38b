// SPDX-License-Identifier: Apache-2.0
// The border between the public C++ classes and the core: views to targets, statuses to exceptions.
#pragma once

#include <utility>

#include "core/objects.hpp"
#include "core/process.hpp"
#include "hostlaunch/stream.hpp"

namespace hostlaunch {

inline abi::stream raw(stream_ref stream) noexcept {
    return reinterpret_cast<abi::stream>(stream.handle());
}

// Calls f(target) while the stream's owner, if the view has one, cannot be destroyed.
template <class F>
core::status on_stream(stream_ref stream, F&& f, const char* role = "stream") {
    if (stream.is_empty()) return core::refuse_closed(role);
    core::stream* owner = stream.owner();
    const core::stream_target named{owner == nullptr ? raw(stream) : nullptr, nullptr, -1};
    return core::on_stream(owner, named, std::forward<F>(f), role);
}

// Calls f(object) while the object cannot be destroyed; throws what fails. `role`: how a refusal
// names the object if it is closed.
template <class Object, class F>
void use_object(Object& object, const char* role, const char* attempted, F&& f) {
    core::throw_if_failed(core::enter_driver(), attempted);
    const core::handle::use use(object.guard());
    core::throw_if_failed(use ? f(object) : core::refuse_closed(role), attempted);
}

}  // namespace hostlaunch
