// SPDX-License-Identifier: Apache-2.0
// What a stream that is not free is called.
#include "core/objects/capture_check.hpp"

#include "core/objects/context.hpp"

namespace hostlaunch::core {

status explain_capture(abi::stream stream, int code, abi::capture_status capturing) noexcept {
    if (code == abi::success && capturing != abi::capture_status::none) {
        return refuse(misuse::capturing);
    }
    if (code == abi::error_stream_capture_implicit ||
        code == abi::error_stream_capture_invalidated) {
        return refuse(misuse::capturing);
    }
    if (code == abi::error_invalid_context && is_default_stream(stream)) {
        return refuse(misuse::no_context);
    }
    return {code, "cuStreamIsCapturing"};
}

}  // namespace hostlaunch::core
