// SPDX-License-Identifier: Apache-2.0
// Events: a point in a stream's work.
#pragma once

#include <chrono>
#include <memory>

#include "hostlaunch/export.hpp"

struct CUevent_st;  // CUevent and cudaEvent_t are pointers to it

namespace hostlaunch {

class stream;
namespace core {
class event;
}

// Owns an event made by stream::record; does not measure time. Threads and errors as for `stream`.
// One made without a stream, or moved from, owns nothing and counts as closed until it is recorded.
class HOSTLAUNCH_API event {
  public:
    event() noexcept;
    ~event();  // closes
    event(event&&) noexcept;
    event& operator=(event&&) noexcept;

    CUevent_st* handle() const noexcept;  // null if it owns nothing

    // Waits until the work before the last record has completed; throws as stream::sync does.
    void sync();

    // The same for at most so long, which may be nothing: true if the work has completed. Sleeps
    // between looks, and may be called again.
    bool sync_for(std::chrono::duration<double> limit);

    // True if that work has completed; does not wait. Throws the driver's code of an earlier
    // asynchronous error too.
    bool is_done() const;

    // Destroys the event; closing twice is allowed.
    void close() noexcept;
    bool is_closed() const noexcept;

  private:
    friend class stream;
    explicit event(std::unique_ptr<core::event> made) noexcept;

    std::unique_ptr<core::event> impl_;
};

}  // namespace hostlaunch
