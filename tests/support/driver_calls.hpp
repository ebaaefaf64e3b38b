// SPDX-License-Identifier: Apache-2.0
// What an operation calls of the driver, taken from its log: a new call is tested as soon as it is
// made.
#pragma once

#include <unistd.h>

#include <map>
#include <set>
#include <string>

#include "driver/abi.hpp"
#include "embedded/control.hpp"
#include "support/waiting.hpp"

namespace hostlaunch::test {

inline constexpr int injected = abi::error_out_of_memory;

// How often each entry is called.
using calls = std::map<std::string, int>;

// If the driver refuses one of these, the object is still there: nothing to expect.
inline const std::set<std::string> releases{
    "cuStreamDestroy", "cuEventDestroy",     "cuMemFree",          "cuMemFreeHost",
    "cuGraphDestroy",  "cuGraphExecDestroy", "cuUserObjectRelease"};

// The entries whose failure no operation reports: restoring a mode or a context, after the fact.
inline const calls restores{{"cuThreadExchangeStreamCaptureMode", 1}};

// Whether an operation survives the nth call of an entry: from the call on that `tolerated` names.
inline bool survives(const calls& tolerated, const std::string& entry, int nth) {
    const auto last_tolerated = tolerated.find(entry);
    return last_tolerated != tolerated.end() && nth >= last_tolerated->second;
}

// Carries the operation out; what the calling thread called meanwhile. Resets the knobs.
template <class Operation>
calls driver_calls(Operation&& operation) {
    hostlaunch_embedded_set_log(1);
    operation();
    hostlaunch_embedded_set_log(0);
    calls made;
    hostlaunch_embedded_call call{};
    for (int i = 0; hostlaunch_embedded_log_get(i, &call) == 0; ++i) {
        if (call.thread == static_cast<std::uint64_t>(gettid())) ++made[call.entry];
    }
    hostlaunch_embedded_reset();
    return made;
}

// Calls fail(entry, nth, survives) for each of these driver calls in turn, but for the releases:
// the one harness that all tests of failing driver calls run in.
template <class Fail>
void fail_each(const calls& made, const calls& tolerated, Fail&& fail) {
    EXPECT_FALSE(made.empty());
    for (const auto& [entry, count] : made) {
        if (releases.contains(entry)) continue;
        for (int nth = 1; nth <= count; ++nth) {
            SCOPED_TRACE(entry + ", call " + std::to_string(nth));
            fail(entry, nth, survives(tolerated, entry, nth));
        }
    }
}

}  // namespace hostlaunch::test
