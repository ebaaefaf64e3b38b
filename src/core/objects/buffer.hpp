// SPDX-License-Identifier: Apache-2.0
// Memory to order work against. Threads, locks and failures as stream.hpp says.
#pragma once

#include <cstddef>
#include <memory>

#include "core/objects/context.hpp"
#include "core/objects/handle.hpp"

namespace hostlaunch::core {

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

// Work on a stream, as event.hpp says.
status copy(stream_target target, buffer& destination, buffer& source) noexcept;
status fill(stream_target target, buffer& destination, unsigned char value) noexcept;

}  // namespace hostlaunch::core
