// SPDX-License-Identifier: Apache-2.0
// Memory of a fixed size to order work against, no more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "hostlaunch/export.hpp"
#include "hostlaunch/stream.hpp"

namespace hostlaunch {

namespace core {
class buffer;
}

enum class buffer_kind { device, pinned };

// Owns device memory or pinned host memory. Threads and errors as for `stream`. A buffer may be
// closed or destroyed before the work that uses it has run: to free memory, the driver waits for
// all work of the buffer's context, and at exit memory is left to the process. Keep it open for
// work of other contexts and as long as a graph that uses it may be launched.
class HOSTLAUNCH_API buffer {
  public:
    // nbytes: positive, else std::invalid_argument. device_id: -1 for the current context, or
    // device 0 if there is none. Throws CUDA_ERROR_OUT_OF_MEMORY where the driver has no more.
    explicit buffer(std::size_t nbytes, buffer_kind kind = buffer_kind::device, int device_id = -1);
    ~buffer();  // closes
    buffer(buffer&&) noexcept;
    buffer& operator=(buffer&&) noexcept;

    std::uintptr_t handle() const noexcept;  // the address, of device or host memory
    std::size_t nbytes() const noexcept;
    buffer_kind kind() const noexcept;

    // The host memory of a pinned buffer, empty for device memory and for a closed buffer.
    std::span<std::byte> bytes() const noexcept;

    // Enqueue a copy of the whole buffer, or set every byte. Between two pinned buffers the driver
    // copies during the call, once earlier work of the stream has completed (seen on an H200).
    // Throws std::invalid_argument if the sizes differ, misuse::closed if a buffer or the stream is
    // closed.
    void copy_to(buffer& destination, stream_ref stream);
    void copy_from(buffer& source, stream_ref stream);
    void fill(std::byte value, stream_ref stream);

    // Frees the memory, for which the driver waits for all work of its context: this can block.
    // Closing twice is allowed.
    void close() noexcept;
    bool is_closed() const noexcept;

  private:
    std::unique_ptr<core::buffer> impl_;
};

}  // namespace hostlaunch
