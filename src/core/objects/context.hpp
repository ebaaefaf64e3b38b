// SPDX-License-Identifier: Apache-2.0
// Contexts and capture modes around driver calls: set for a scope, restored on every way out.
//
// Every function here enters the driver: call without the GIL and without any lock.
#pragma once

#include <optional>

#include "core/status.hpp"
#include "driver/abi.hpp"
#include "driver/driver.hpp"

namespace hostlaunch::core {

// For its lifetime the calling thread's own calls neither break nor are forbidden by captures in
// progress (contract G4). requires: driver_library::is_loaded().
class relaxed_capture {
  public:
    relaxed_capture() noexcept { enter(); }
    ~relaxed_capture() { leave(); }
    relaxed_capture(const relaxed_capture&) = delete;
    relaxed_capture& operator=(const relaxed_capture&) = delete;

    // For scopes in which the thread may not enter the driver all along: built without entering.
    struct unentered {};
    constexpr explicit relaxed_capture(unentered) noexcept {}
    void enter() noexcept;
    void leave() noexcept;  // does nothing if enter failed or was not called

  private:
    abi::capture_mode mode_ = abi::capture_mode::relaxed;
    bool changed_ = false;
};

// Has the background thread run in relaxed capture mode: what it calls, destructors of users
// included, harms no capture. Once.
void add_relaxed_capture_duty() noexcept;

// Makes `wanted` the calling thread's current context and restores the former one at the end.
// Does nothing if it is current already. status() tells whether it worked.
class current_context {
  public:
    explicit current_context(abi::context wanted) noexcept;
    ~current_context();
    current_context(const current_context&) = delete;
    current_context& operator=(const current_context&) = delete;

    core::status status() const noexcept { return status_; }

  private:
    abi::context former_ = nullptr;
    bool changed_ = false;
    core::status status_;  // last: its initialiser sets the two above
};

// The primary context of a device, retained once by the process and never given back (a release at
// exit could tear down what others still use).
status primary_context(int device, abi::context* out) noexcept;

// Keeps a primary context from being destroyed by the last release of others, for the events that
// the library leaves in it. A context that is reset or was not primary is the user's to keep.
void keep_context(abi::context context) noexcept;

// The device of a context.
status device_of(abi::context context, int* out) noexcept;

// True for the tokens 0, 1 and 2, which mean the current context's default streams.
inline bool is_default_stream(abi::stream s) noexcept {
    return reinterpret_cast<std::uintptr_t>(s) <= 2;
}

// The stream that a call works on, as its carrier names it.
struct stream_target {
    abi::stream handle = nullptr;
    abi::context context = nullptr;  // null: not known yet
    int device = -1;                 // for a default-stream token: the device its carrier names
};

// Makes the context of a default-stream token current for a scope if its carrier names a device,
// and fills target.context. For a created stream it makes nothing current.
class target_scope {
  public:
    explicit target_scope(stream_target& target) noexcept;
    ~target_scope();
    target_scope(const target_scope&) = delete;
    target_scope& operator=(const target_scope&) = delete;

    core::status status() const noexcept { return status_; }

  private:
    abi::context former_ = nullptr;
    bool changed_ = false;
    core::status status_;
};

// Fills target.context if it is not known. requires: check_capture passed.
status ask_context(stream_target& target) noexcept;
inline status find_context(stream_target& target) noexcept {
    return target.context != nullptr ? status{} : ask_context(target);
}

// Makes the context of a stream current for a scope, whichever kind of stream it is, and fills
// target.context. The stream may capture.
class work_scope {
  public:
    explicit work_scope(stream_target& target) noexcept;
    core::status status() const noexcept { return status_; }

  private:
    target_scope defaults_;
    std::optional<current_context> current_;
    core::status status_;
};

}  // namespace hostlaunch::core
