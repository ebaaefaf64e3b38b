// SPDX-License-Identifier: Apache-2.0
// Points in a stream's work. Threads, locks and failures as stream.hpp says.
#pragma once

#include <memory>

#include "core/objects/context.hpp"
#include "core/objects/handle.hpp"

namespace hostlaunch::core {

class event {
  public:
    // Creates an event in the target's context, with event_blocking_sync or as the setting says.
    // requires: target.context is filled.
    static status create(const stream_target& target, std::unique_ptr<event>& out,
                         unsigned flags = 0);

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

// Work on a stream, named by what its carrier tells. The stream may capture.
status record_event(stream_target target, event& e) noexcept;
status record_new_event(stream_target target, std::unique_ptr<event>& out, unsigned flags = 0);
status wait_event(stream_target target, event& e) noexcept;
status wait_stream(stream_target target, stream_target other);

}  // namespace hostlaunch::core
