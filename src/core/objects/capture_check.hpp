// SPDX-License-Identifier: Apache-2.0
// The question before each launch: does the stream capture?
#pragma once

#include "core/status.hpp"
#include "driver/driver.hpp"

namespace hostlaunch::core {

// 0 if work may be enqueued on the stream; misuse::capturing if the stream captures, its capture
// was invalidated, or another capture forbids its use; misuse::no_context for a default stream
// without a context; else what the driver said. Never invalidates a capture.
status explain_capture(abi::stream stream, int code, abi::capture_status capturing) noexcept;
struct capture_answer {
    int code = abi::success;
    abi::capture_status capturing = abi::capture_status::none;

    bool is_free() const noexcept {
        return code == abi::success && capturing == abi::capture_status::none;
    }
};
inline capture_answer ask_capture(abi::stream stream) noexcept {
    capture_answer answer;
    answer.code = driver_library::api().stream_is_capturing(stream, &answer.capturing);
    return answer;
}
inline status check_capture(abi::stream stream) noexcept {
    const capture_answer answer = ask_capture(stream);
    return answer.is_free() ? status{} : explain_capture(stream, answer.code, answer.capturing);
}

}  // namespace hostlaunch::core
