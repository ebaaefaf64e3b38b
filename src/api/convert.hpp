// SPDX-License-Identifier: Apache-2.0
// Between the public C++ classes and the core: views to targets, statuses to exceptions.
#pragma once

#include <utility>

#include "core/lifecycle.hpp"
#include "core/objects/stream_use.hpp"
#include "hostlaunch/stream.hpp"

namespace hostlaunch {

inline abi::stream raw(stream_ref stream) noexcept {
    return reinterpret_cast<abi::stream>(stream.handle());
}

// The stream behind a view in use, for calls that need no more of it.
class use_of {
  public:
    explicit use_of(stream_ref stream, const char* role = "stream") noexcept
        : use_(stream.owner(), {stream.owner() == nullptr ? raw(stream) : nullptr, nullptr, -1},
               role),
          empty_(stream.is_empty()),
          role_(role) {}

    core::status status() const noexcept {
        return empty_ ? core::refuse_closed(role_) : use_.status();
    }
    const core::stream_target& target() const noexcept { return use_.target(); }
    core::stream* own() const noexcept { return use_.own(); }

  private:
    core::stream_use use_;
    bool empty_;
    const char* role_;
};

// Calls f(object) while the object cannot be destroyed; throws what fails. `role`: how a refusal
// names the object if it is closed.
template <class Object, class F>
void use_object(Object& object, const char* role, const char* attempted, F&& f) {
    core::throw_if_failed(core::enter_driver(), attempted);
    const core::handle::use use(object.guard());
    core::throw_if_failed(use ? f(object) : core::refuse_closed(role), attempted);
}

}  // namespace hostlaunch
