// SPDX-License-Identifier: Apache-2.0
// Streams: a view that every function takes, and an owner.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "hostlaunch/event.hpp"
#include "hostlaunch/export.hpp"

struct CUstream_st;  // CUstream and cudaStream_t are pointers to it

namespace hostlaunch {

class stream;
namespace core {
class stream;
}

// A view of a stream: made from CUstream, cudaStream_t or hostlaunch::stream, never from a number,
// so that a forgotten stream does not silently mean a default one. Name the default streams by
// their CUDA constants; they mean the current context. requires: the stream outlives the view's
// use.
class stream_ref {
  public:
    stream_ref(CUstream_st* handle) noexcept : handle_(handle) {}
    stream_ref(const stream& owner) noexcept;
    stream_ref(std::nullptr_t) = delete;
    template <std::integral Number>
    stream_ref(Number) = delete;

    CUstream_st* handle() const noexcept { return owner_ == nullptr ? handle_ : owned_handle(); }

    // The owner behind the view, or null. For the library.
    core::stream* owner() const noexcept { return owner_; }

    // True for a view of a stream that was moved from, which is refused like a closed one.
    bool is_empty() const noexcept {
        return owner_ == nullptr && reinterpret_cast<std::uintptr_t>(handle_) == from_owner;
    }

  private:
    HOSTLAUNCH_API CUstream_st* owned_handle() const noexcept;

    // In place of the handle where a view was made from an owner: that one knows it.
    static constexpr std::uintptr_t from_owner = ~std::uintptr_t{0};

    CUstream_st* handle_;
    core::stream* owner_ = nullptr;
};

struct stream_options {
    int device_id = -1;       // -1: the current context, or device 0 if there is none
    bool nonblocking = true;  // does not synchronise with the legacy default stream
    std::optional<int> priority = std::nullopt;  // within the device's range; lower is more urgent
};

// Owns a stream. Any thread may call any member at any time, but for moves and destruction; `close`
// lets calls in progress end first. Functions pending at that time still run. What was moved from
// may only be destroyed, assigned to or viewed.
//
// Members that are not noexcept throw `error`, as those of all classes here do: misuse::closed;
// misuse::in_host_function, forked and exiting where CUDA may not be entered;
// misuse::driver_unavailable or the driver's code from the first call, if no driver can be used;
// misuse::no_context for a default stream while none is current; else the code with which the
// driver refused. Nothing has happened then. Those that make an object, and the wait for another
// stream, throw std::bad_alloc too.
class HOSTLAUNCH_API stream {
  public:
    // Throws CUDA_ERROR_INVALID_VALUE for a priority out of range, CUDA_ERROR_INVALID_DEVICE for a
    // device that does not exist.
    stream();
    explicit stream(const stream_options& options);
    ~stream();  // closes
    stream(stream&&) noexcept;
    stream& operator=(stream&&) noexcept;

    // Borrows a handle: it is used, never destroyed. Does not enter the driver, and throws nothing
    // but std::bad_alloc.
    static stream from_handle(CUstream_st* handle);

    CUstream_st* handle() const noexcept;
    int device_id() const;  // the ordinal; asks the driver if the stream is borrowed

    // Waits until all work enqueued so far has completed. Throws the driver's code of an earlier
    // asynchronous error too, and misuse::in_host_function in host functions of other libraries.
    void sync();

    // The same for at most so long, which may be nothing: true if all that was enqueued before the
    // call has completed. Sleeps between looks, and may be called again.
    bool sync_for(std::chrono::duration<double> limit);

    // Records an event behind all work enqueued so far: a new one, or one of the same context (of
    // another one: CUDA_ERROR_INVALID_HANDLE). An event that owns nothing yet becomes a new one.
    event record();
    void record(event& again);

    // Lets later work of this stream wait; does not block the caller. Other devices are allowed.
    // Throws misuse::closed if either is closed.
    void wait(const event& e);
    void wait(stream_ref other);

    // Destroys the stream; closing twice is allowed. Never fails.
    void close() noexcept;
    bool is_closed() const noexcept;

  private:
    friend class stream_ref;
    explicit stream(std::shared_ptr<core::stream> made) noexcept;

    void close_if_owner() noexcept;

    std::shared_ptr<core::stream> impl_;  // shared with graph builders
};

inline stream_ref::stream_ref(const stream& owner) noexcept
    : handle_(reinterpret_cast<CUstream_st*>(from_owner)), owner_(owner.impl_.get()) {}

}  // namespace hostlaunch
