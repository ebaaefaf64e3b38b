// SPDX-License-Identifier: Apache-2.0
// Streams of our own, and those that are borrowed.
//
// Calls that are not work on a stream run in relaxed capture mode: they harm no capture in
// progress, whoever began it, and none forbids them.
//
// Any thread may call any function of an object at any time, `close` included: a call in progress
// ends first. Every function but the accessors enters the driver: call without the GIL and without
// locks. Failed calls leave nothing behind; those that make an object throw std::bad_alloc too.
#pragma once

#include <memory>
#include <optional>

#include "core/objects/context.hpp"
#include "core/objects/handle.hpp"

namespace hostlaunch::core {

struct stream_options {  // as hostlaunch::stream_options
    int device = -1;     // -1: the current context, else the primary context of device 0
    bool nonblocking = true;
    std::optional<int> priority;  // within the device's range; lower numbers are more urgent
};

// A base of its own, so that a stream begins with its handle: each launch enters and leaves it.
class stream_handle {
  protected:
    stream_handle(const object_type& type, std::uint64_t value) noexcept : handle_(type, value) {}

    handle handle_;
};

class stream : private stream_handle, public std::enable_shared_from_this<stream> {
  public:
    // Creates a stream. A priority out of range is CUDA_ERROR_INVALID_VALUE.
    static status create(const stream_options& options, std::unique_ptr<stream>& out);

    // Borrows a handle: it is used, never destroyed. Default-stream tokens are allowed.
    explicit stream(abi::stream borrowed) noexcept;

    abi::stream raw() const noexcept { return reinterpret_cast<abi::stream>(handle_.value()); }
    abi::context context() const noexcept { return context_; }  // null for a borrowed stream
    bool is_closed() const noexcept { return handle_.is_closed(); }
    void close() noexcept { handle_.close(); }
    handle& guard() noexcept { return handle_; }

    // What a launch needs; the context is known for streams that we created.
    stream_target target() const noexcept { return {raw(), context_, -1}; }

    status device(int* out) noexcept;

  private:
    stream(abi::stream created, abi::context context, int device) noexcept;

    abi::context context_ = nullptr;
    int device_ = -1;
};

// The context to create things in: of a named device, else the current one, else of device 0.
status choose_context(int device, abi::context* out) noexcept;

// For a driver object that was created and has nobody to hold it.
[[noreturn]] void destroy_for_want_of_memory(const object_type& type, std::uint64_t value);

// Waits until all work enqueued so far has completed.
status sync_stream(stream_target target) noexcept;

// Refuses a call that would block inside a host function, ours or anybody's (contract E3): there
// the driver answers NOT_PERMITTED to a question that it answers everywhere else.
status may_block() noexcept;

}  // namespace hostlaunch::core
