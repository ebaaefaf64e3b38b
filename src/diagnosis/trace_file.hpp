// SPDX-License-Identifier: Apache-2.0
// Writes what is marked into a file that Perfetto and chrome://tracing open (contract V4).
//
// A thread of its own reads the rings of all threads and writes; nobody waits for it but `stop`. It
// takes no GIL and no lock of others. Memory is bounded by the rings: what they cannot hold is
// lost, counted, and told in the file. The file is an array of events whose end may be missing:
// that of a process that died opens as well.
#pragma once

#include <cstdint>

namespace hostlaunch::diagnosis {

struct trace_result {
    int error = 0;  // an errno, the first one met
    std::uint64_t events = 0;
    std::uint64_t lost = 0;
};

// One at a time: EBUSY while one is written. Replaces the file.
trace_result start_trace(const char* path) noexcept;

// Writes what is left, ends the file and closes it. EINVAL if none was begun.
trace_result stop_trace() noexcept;

}  // namespace hostlaunch::diagnosis
