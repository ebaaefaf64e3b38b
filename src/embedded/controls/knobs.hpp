// SPDX-License-Identifier: Apache-2.0
// The knobs that every entry point passes: log, holds, armed failures, entry check.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "embedded/control.hpp"
#include "embedded/entry_points.hpp"

namespace hostlaunch::embedded {

struct armed_failure {
    int calls_left;
    int outcome;
    std::uint64_t thread;  // whose calls count: as thread_id gives it, 0 for everybody's
};

// One for each base name; entries that share one share its knobs.
struct entry_knobs {
    bool held = false;
    int blocked = 0;
    std::uint64_t releases = 0;  // a blocked call leaves when this changes
    std::vector<armed_failure> failures;
};

// Guarded by its own mutex, which is a leaf: no other lock is taken under it, nothing foreign
// runs under it. A fork takes it, so that the child never inherits it locked.
struct knobs {
    std::mutex mutex;
    std::condition_variable changed;
    std::array<entry_knobs, entry_count> entries;  // indexed by base
    std::atomic<int (*)(void)> check{nullptr};
    int violations = 0;
    const char* first_violation = nullptr;
    bool logging = false;
    std::vector<hostlaunch_embedded_call> log;
    int logged = 0;  // more than log.size() once the log is full
};

knobs& the_knobs();

// Counts every call of a symbol since load. Relaxed: a statistic, partners with nothing.
extern std::array<std::atomic<std::uint64_t>, entry_count> call_counts;

// What the knobs do to one call on its way in.
struct knocked {
    int log_index = -1;  // its line in the log
    bool fails = false;
    result outcome = success;  // if it fails
};

// Calls the entry check, logs the call, blocks while its entry is held, takes an armed failure.
knocked knock(entry_id id, const std::uint64_t* arguments, unsigned count);
void log_answer(int log_index, result answer);

// requires: the knobs' mutex
void end_all_holds();
void refresh_attention();

}  // namespace hostlaunch::embedded
