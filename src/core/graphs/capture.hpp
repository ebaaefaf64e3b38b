// SPDX-License-Identifier: Apache-2.0
// A capture of ours in progress whose builder is gone: ended as soon as a thread may enter the
// driver.
#pragma once

#include <cstdint>
#include <memory>

#include "core/objects/stream.hpp"

namespace hostlaunch::core {

struct abandoned_capture {
    stream_target target;
    std::uint64_t id = 0;
    std::shared_ptr<stream> owner;  // in use until the capture has ended; null if foreign
};

// For destroy_object, which takes a pointer to an abandoned_capture from new over: ends the
// capture, drops its graph and releases the stream. Inside a host function it does nothing and
// returns NOT_PERMITTED. Any thread may do it: for a capture that another thread began in another
// mode than relaxed the driver answers WRONG_THREAD, but drops it (measured on an H200).
extern const object_type abandoned_capture_type;

}  // namespace hostlaunch::core
