// SPDX-License-Identifier: Apache-2.0
// A driver object with uses in progress: closing forbids new uses, the last one out destroys it.
//
// Closing and destroying never fail and never throw. A driver object whose last use ends inside a
// host function, where the driver forbids the call, is destroyed by run_deferred on the main
// thread.
#pragma once

#include <cstdint>

#include "core/closable.hpp"
#include "core/status.hpp"

namespace hostlaunch::core {

enum class object_kind : std::uint8_t {
    none,
    stream,
    event,
    device_memory,
    host_memory,
    graph,
    graph_exec,
    capture,  // an abandoned_capture to end
};

// Destroys a driver object now if the thread may, else hands it to run_deferred. After a fork and
// during process exit the driver is not entered and its objects stay; memory stays from the
// beginning of exit on. Enters the driver: call without the GIL and without locks.
void destroy_object(object_kind kind, std::uint64_t value) noexcept;

// True if run_deferred has something to do.
bool has_deferred() noexcept;

// Destroys what was deferred. Enters the driver, as above.
void run_deferred() noexcept;

class handle {
  public:
    handle(object_kind kind, std::uint64_t value) noexcept : kind_(kind), value_(value) {}
    ~handle() { close(); }
    handle(const handle&) = delete;
    handle& operator=(const handle&) = delete;

    std::uint64_t value() const noexcept { return value_; }
    bool is_closed() const noexcept { return uses_.is_closed(); }

    void close() noexcept {
        if (uses_.close()) destroy_object(kind_, value_);
    }

    // A use that is not bound to a scope: false if closed, else `leave` must follow.
    bool enter() noexcept { return uses_.enter(); }
    void leave() noexcept {
        if (uses_.leave()) destroy_object(kind_, value_);
    }

    // One use in progress; false when converted if the object is closed.
    class use {
      public:
        explicit use(handle& h) noexcept : handle_(h.enter() ? &h : nullptr) {}
        ~use() {
            if (handle_ != nullptr) handle_->leave();
        }
        use(const use&) = delete;
        use& operator=(const use&) = delete;
        explicit operator bool() const noexcept { return handle_ != nullptr; }

      private:
        handle* handle_;
    };

  private:
    closable uses_;
    object_kind kind_;  // none: borrowed, never destroyed by us
    std::uint64_t value_;
};

}  // namespace hostlaunch::core
