// SPDX-License-Identifier: Apache-2.0
// A driver object with uses in progress: closing forbids new uses, the last one out destroys it.
//
// Closing and destroying never fail and never throw. A driver object whose last use ends inside a
// host function, where the driver forbids the call, is destroyed by who drains the release
// queue.
#pragma once

#include <cstdint>

#include "core/process/use_count.hpp"
#include "core/status.hpp"

namespace hostlaunch::core {

// What the library must know of a kind of driver object: one constant each.
struct object_type {
    int (*destroy)(std::uint64_t value) noexcept;  // a driver call; null: borrowed, never destroyed
    // A free waits for all work of its context. Once exit has begun that may be a function that
    // never ends, and the memory is left to the process.
    bool left_at_exit = false;
    // Frees what is ours of it where the driver may not be entered any more; null: nothing is.
    void (*forget)(std::uint64_t value) noexcept = nullptr;
};

inline constexpr object_type borrowed_object{nullptr};

// Destroys a driver object now if the thread may, else pushes it onto the release queue. After a
// fork and during process exit the driver is not entered and its objects stay; memory stays from
// the beginning of exit on. Enters the driver: call without the GIL and without locks.
void destroy_object(const object_type& type, std::uint64_t value) noexcept;

class handle {
  public:
    handle(const object_type& type, std::uint64_t value) noexcept : type_(&type), value_(value) {}
    ~handle() { close(); }
    handle(const handle&) = delete;
    handle& operator=(const handle&) = delete;

    std::uint64_t value() const noexcept { return value_; }
    bool is_closed() const noexcept { return uses_.is_closed(); }

    void close() noexcept {
        if (uses_.close()) destroy_object(*type_, value_);
    }

    // A use that is not bound to a scope: false if closed, else `leave` must follow.
    bool enter() noexcept { return uses_.enter(); }
    void leave() noexcept {
        if (uses_.leave()) destroy_object(*type_, value_);
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
    use_count uses_;
    const object_type* type_;
    std::uint64_t value_;
};

}  // namespace hostlaunch::core
