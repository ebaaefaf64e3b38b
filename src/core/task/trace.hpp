// SPDX-License-Identifier: Apache-2.0
// What happens to each launch, marked where it happens, for those who want to see it.
//
// While nobody reads, the watched bits are off and nothing here is called: the fast paths test them
// together with bits that they test anyhow. While somebody reads, each thread marks into a log of
// its own. Marks are made with or without the GIL, on any thread; they take no lock and call
// nothing foreign but the live reader's two functions.
#pragma once

#include <cstdint>

#include "core/task/record.hpp"
#include "core/task/thread_log.hpp"

namespace hostlaunch::core::trace {

// --- who reads

enum reader : unsigned { trace_file = 1, nvtx = 2, watchdog = 4 };

// What is called on the thread that runs the function, right before and right behind it.
struct live_reader {
    void (*begins)(name_id name) noexcept;
    void (*ends)() noexcept;
};

void add_reader(reader r) noexcept;
void remove_reader(reader r) noexcept;
void set_live_reader(const live_reader& functions) noexcept;  // before add_reader(nvtx)

// True while anybody reads: for paths that are not fast.
bool is_on() noexcept;

// For the child of a fork: nobody reads there, since the readers' threads are the parent's.
void forget() noexcept;

// --- marking. requires: somebody read when the path was taken; may have ended meanwhile.

// Around what hands a filled record to a route. Marks the end as refused unless it was accepted.
class launch {
  public:
    launch(const record& r, std::uint64_t stream, name_id name) noexcept;
    ~launch();
    launch(const launch&) = delete;
    launch& operator=(const launch&) = delete;

    void accept() noexcept { accepted_ = true; }

  private:
    subject of_;  // the record itself may belong to another launch by the end
    std::uint64_t began_;
    bool accepted_ = false;
};

// On a thread that the driver has called with a task, in this order. What it is called may be told
// when the run begins, where it was not known before; `raised`: an exception has left it.
void enter_task(std::uint64_t token, std::uint64_t stream, bool replayed) noexcept;
bool is_task_named() noexcept;
void begin_run(name_id name) noexcept;
void end_run(bool raised) noexcept;

// Of a record that is being disposed of. Nothing if no trace is written.
void mark_release(const record& r) noexcept;

// Around a call of ours that waits for a stream. Tests by itself whether somebody reads.
class waiting {
  public:
    explicit waiting(std::uint64_t stream) noexcept;
    ~waiting();
    waiting(const waiting&) = delete;
    waiting& operator=(const waiting&) = delete;

  private:
    bool marked_;
};

}  // namespace hostlaunch::core::trace
