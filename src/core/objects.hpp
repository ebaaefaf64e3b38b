// SPDX-License-Identifier: Apache-2.0
// Streams, events and buffers: the least that host functions need to be ordered against.
//
// Calls that are not work on a stream run in relaxed capture mode: they harm no capture in
// progress, whoever began it, and none forbids them.
//
// Any thread may call any function of an object at any time, `close` included: a call in progress
// ends first. Every function but the accessors enters the driver: call without the GIL and without
// locks. Failed calls leave nothing behind; those that make an object throw std::bad_alloc too.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "core/context.hpp"
#include "core/handle.hpp"

namespace hostlaunch::core {

class event;

struct stream_options {  // as hostlaunch::stream_options
    int device = -1;     // -1: the current context, else the primary context of device 0
    bool nonblocking = true;
    std::optional<int> priority;  // within the device's range; lower numbers are more urgent
};

// A base of its own, so that a stream begins with its handle: each launch enters and leaves it.
class stream_handle {
  protected:
    stream_handle(object_kind kind, std::uint64_t value) noexcept : handle_(kind, value) {}

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

class event {
  public:
    // Creates an event in the target's context. requires: target.context is filled.
    static status create(const stream_target& target, std::unique_ptr<event>& out);

    abi::event raw() const noexcept;
    bool is_closed() const noexcept { return handle_.is_closed(); }
    void close() noexcept { handle_.close(); }
    handle& guard() noexcept { return handle_; }

    // Waits until the work before the record has completed.
    status sync() noexcept;
    status query(bool* done) noexcept;

  private:
    explicit event(abi::event created) noexcept;

    handle handle_;
};

class buffer {
  public:
    enum class kind { device, pinned };

    static status create(std::size_t bytes, kind k, int device, std::unique_ptr<buffer>& out);

    abi::device_ptr raw() const noexcept { return handle_.value(); }
    void* host() const noexcept { return reinterpret_cast<void*>(handle_.value()); }
    std::size_t size() const noexcept { return bytes_; }
    kind where() const noexcept { return kind_; }
    bool is_closed() const noexcept { return handle_.is_closed(); }
    void close() noexcept { handle_.close(); }
    handle& guard() noexcept { return handle_; }

  private:
    buffer(std::size_t bytes, kind k, std::uint64_t address) noexcept;

    handle handle_;
    std::size_t bytes_;
    kind kind_;
};

// Calls f(target) for work on a stream: a stream of ours, which cannot be destroyed meanwhile, or
// if `own` is null the target that its carrier names. `role`: how a refusal names a closed stream.
template <class F>
status on_stream(stream* own, const stream_target& named, F&& f, const char* role = "stream") {
    if (own == nullptr) return f(named);
    const handle::use use(own->guard());
    return use ? f(own->target()) : refuse_closed(role);
}

// Work on a stream, named by what its carrier tells. The stream may capture.
status sync_stream(stream_target target) noexcept;
status record_event(stream_target target, event& e) noexcept;
status record_new_event(stream_target target, std::unique_ptr<event>& out);
status wait_event(stream_target target, event& e) noexcept;
status wait_stream(stream_target target, stream_target other);
status copy(stream_target target, buffer& destination, buffer& source) noexcept;
status fill(stream_target target, buffer& destination, unsigned char value) noexcept;

// Refuses a call that would block inside a host function, ours or anybody's (contract E3): there
// the driver answers NOT_PERMITTED to a question that it answers everywhere else.
status may_block() noexcept;

}  // namespace hostlaunch::core
