// SPDX-License-Identifier: Apache-2.0
// The results that mean the end of a context, and the question.
#include "core/objects/context_failure.hpp"

#include <algorithm>
#include <iterator>

#include "core/objects/context.hpp"

namespace hostlaunch::core {
namespace {

// Asks with an event made for the question: one that was kept could die with its context, and the
// driver does not check handles.
bool says_failed(const status& entered) noexcept {
    if (!entered.ok()) return is_context_failure(entered.code);
    abi::event event = nullptr;
    const int made = driver_library::api().event_create(&event, abi::event_disable_timing);
    if (made != abi::success) return is_context_failure(made);
    const int code = driver_library::api().event_query(event);  // never recorded: tells errors only
    destroy_event(event, code);
    return is_context_failure(code);
}

}  // namespace

bool is_context_failure(int code) noexcept {
    constexpr int failures[] = {214, 220, 226, 700, 702, 709, 710, 714,
                                715, 716, 717, 718, 719, 721, 911, abi::error_unknown};
    return std::find(std::begin(failures), std::end(failures), code) != std::end(failures);
}

// Twice: functions that wait would never run if an error that passes were taken for the end.
bool has_failed(abi::context context) noexcept {
    const current_context scope(context);
    return says_failed(scope.status()) && says_failed(scope.status());
}

}  // namespace hostlaunch::core
