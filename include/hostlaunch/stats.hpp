// SPDX-License-Identifier: Apache-2.0
// One outcome for every launch, counted.
#pragma once

#include <cstdint>

#include "hostlaunch/export.hpp"

namespace hostlaunch {

// Counts since the process began. Each launch that the driver accepted is pending, then running,
// then ends as exactly one of ran, raised (an exception left it), abandoned (its context failed
// first) and dropped (the process ended first). Whenever nothing moves, `accepted` is the sum of
// these six. Launches as is without a copy, and borrowed callables, are not tracked and not
// counted. Host functions of graphs have counts of their own: they run any number of times.
struct launch_stats {
    std::uint64_t accepted = 0;
    std::uint64_t pending = 0;
    std::uint64_t running = 0;
    std::uint64_t ran = 0;
    std::uint64_t raised = 0;
    std::uint64_t abandoned = 0;
    std::uint64_t dropped = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t awaiting_release = 0;  // ended, callable or copy not destroyed yet; graphs' too
    // How long the pending launch that is oldest has been pending, in milliseconds; 0 if none is.
    // Coarse: read from a clock that steps every 50 ms at the latest.
    std::uint32_t oldest_pending_ms = 0;
    std::uint64_t graph_callbacks = 0;  // host functions that graphs hold now
    std::uint64_t graph_ran = 0;        // runs of them that returned
    std::uint64_t graph_raised = 0;     // runs that an exception left
};

// Any thread; no lock. Walks all launches that are pending or await release.
HOSTLAUNCH_API launch_stats stats() noexcept;

}  // namespace hostlaunch
