// SPDX-License-Identifier: Apache-2.0
// Words for statuses: what was attempted, what the driver said, what to do.
#include "core/status.hpp"

#include "driver/driver.hpp"

namespace hostlaunch::core {
namespace {

struct misuse_text {
    misuse what;
    const char* name;
    const char* text;
};

constexpr misuse_text misuse_texts[] = {
    {misuse::closed, "HOSTLAUNCH_ERROR_CLOSED", " is closed"},
    {misuse::capturing, "HOSTLAUNCH_ERROR_CAPTURING",
     "the stream is capturing a graph, or a capture in progress forbids its use; the capture is "
     "left as it was. Use a graph builder to add a host function to a graph"},
    {misuse::in_host_function, "HOSTLAUNCH_ERROR_IN_HOST_FUNCTION",
     "this would enter CUDA from inside a host function, which CUDA forbids (it can deadlock). "
     "Signal another thread and call it there"},
    {misuse::forked, "HOSTLAUNCH_ERROR_FORKED",
     "this process was forked from one that had initialised the CUDA driver, and CUDA does not "
     "survive a fork. Start the process with the 'spawn' or 'forkserver' method, or fork before "
     "the first use of CUDA"},
    {misuse::exiting, "HOSTLAUNCH_ERROR_EXITING",
     "the process or interpreter is exiting: no further host functions are accepted"},
    {misuse::no_context, "HOSTLAUNCH_ERROR_NO_CONTEXT",
     "a default stream means the current context, and this thread has none. Make a device current "
     "first (for example cuda.core Device(0).set_current(), torch.cuda.set_device(0) or "
     "cupy.cuda.Device(0).use()), or use a created stream"},
    {misuse::not_building, "HOSTLAUNCH_ERROR_NOT_BUILDING",
     "no building is in progress: the stream captures nothing for this builder. Call "
     "begin_building first, or attach while the other library captures"},
    {misuse::already_building, "HOSTLAUNCH_ERROR_ALREADY_BUILDING",
     "the builder is building already: its capture is in progress"},
    {misuse::already_built, "HOSTLAUNCH_ERROR_ALREADY_BUILT",
     "the builder has ended building and cannot go on; create another one"},
    {misuse::foreign_capture, "HOSTLAUNCH_ERROR_FOREIGN_CAPTURE",
     "another library began this capture, and that library ends it and makes its graph"},
    {misuse::not_built, "HOSTLAUNCH_ERROR_NOT_BUILT",
     "the builder has no graph yet; call begin_building and end_building first"},
    {misuse::foreign_node, "HOSTLAUNCH_ERROR_FOREIGN_NODE",
     "the node is not one of this graph; use what callback() of the builder that it was made from "
     "returned"},
    {misuse::driver_unavailable, "HOSTLAUNCH_ERROR_DRIVER_UNAVAILABLE", "no usable CUDA driver"},
};

const misuse_text& find(int code) {
    for (const misuse_text& entry : misuse_texts) {
        if (static_cast<int>(entry.what) == code) return entry;
    }
    return misuse_texts[std::size(misuse_texts) - 1];
}

}  // namespace

std::string status_name(int code) {
    return code < 0 ? std::string(find(code).name) : driver_library::error_name(code);
}

error to_error(status s, const std::string& attempted) {
    if (s.code < 0) {
        const misuse_text& entry = find(s.code);
        const std::string object = s.call != nullptr ? std::string("the ") + s.call : std::string();
        return {s.code, entry.name, attempted + ": " + object + entry.text};
    }
    const std::string name = driver_library::error_name(s.code);
    const std::string text = driver_library::error_text(s.code);
    std::string message = attempted + ": ";
    if (s.call != nullptr) message += std::string(s.call) + " returned ";
    message += name + " (" + std::to_string(s.code) + ")";
    if (!text.empty()) message += ": " + text;
    return {s.code, name, message};
}

void throw_error(status s, const char* attempted) {
    throw to_error(s, attempted);
}

}  // namespace hostlaunch::core
