// SPDX-License-Identifier: Apache-2.0
// What stands still long enough to be told, and the words for it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "diagnosis/report.hpp"
#include "diagnosis/standstill.hpp"

namespace hostlaunch::diagnosis {

struct finding {
    std::uint64_t key = 0;     // the same at each look as long as it is the same standstill
    std::uint64_t lasted = 0;  // nanoseconds
};

inline bool is_blocked_call(core::trace::phase p) noexcept {
    return p == core::trace::phase::waits;
}

// use(finding) for each thing that has stood still for `limit` or longer. A thread that waits in a
// call of ours is none: what it waits for may be.
template <class Use>
void for_each_finding(const standstill& seen, std::uint64_t now, std::uint64_t limit,
                      Use&& use) noexcept {
    for (const occupied_thread& t : seen.threads()) {
        const std::uint64_t lasted = now - std::min(t.since, now);
        if (!is_blocked_call(t.now.now) && lasted >= limit)
            use(finding{reinterpret_cast<std::uint64_t>(t.log) ^ t.now.at, lasted});
    }
    for (const unmarked_run& r : seen.runs()) {
        if (now - r.since >= limit) use(finding{r.of.t, now - r.since});
    }
    for (const context_progress& c : seen.contexts()) {
        bool waits = false;
        for (const waiting_stream& s : seen.streams())
            waits |= s.context == c.context && now - s.since >= limit;
        if (waits && !c.runs && now - c.moved_at >= limit)
            use(finding{reinterpret_cast<std::uint64_t>(c.context) ^ c.moved_at, now - c.moved_at});
    }
}

// Everything that has stood still for `limit`, who waits for it, and which rule fits.
void describe(report& out, const standstill& seen, std::uint64_t now, std::uint64_t limit) noexcept;

void describe_abandoned(report& out, std::uint64_t count) noexcept;

}  // namespace hostlaunch::diagnosis
