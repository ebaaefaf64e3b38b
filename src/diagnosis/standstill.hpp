// SPDX-License-Identifier: Apache-2.0
// What has not moved for how long, found by looking again and again.
//
// What a thread runs has its own time, marked by the thread. For what is pending, time counts from
// when its context last moved: a function behind many others that run, one after the other, is not
// stuck. Fixed tables: what does not fit is not looked at. Used by one thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/task/trace.hpp"
#include "core/task/unfinished.hpp"

namespace hostlaunch::diagnosis {

// A thread in a function, in front of one, or in a call that waits.
struct occupied_thread {
    const core::trace::thread_log* log = nullptr;
    core::trace::event now{};
    std::uint64_t since = 0;  // all times in nanoseconds of CLOCK_MONOTONIC
};

// The launches of one stream that are pending.
struct waiting_stream {
    std::uint64_t stream = 0;
    abi::context context = nullptr;
    core::unfinished oldest;
    std::uint64_t since = 0;  // seen as the oldest
    std::uint32_t pending = 0;
    bool seen = false;
};

// A launch that has begun before anybody watched: all that is known of it is seen from outside.
struct unmarked_run {
    core::unfinished of;
    std::uint64_t since = 0;
    bool seen = false;
};

struct context_progress {
    abi::context context = nullptr;
    std::uint64_t moved_at = 0;
    bool runs = false;  // a function of it runs, or waits for the GIL
};

class standstill {
  public:
    void look(std::uint64_t now) noexcept;

    std::span<const occupied_thread> threads() const noexcept {
        return {threads_.data(), n_threads_};
    }
    std::span<const waiting_stream> streams() const noexcept {
        return {streams_.data(), n_streams_};
    }
    std::span<const unmarked_run> runs() const noexcept { return {runs_.data(), n_runs_}; }
    std::span<const context_progress> contexts() const noexcept {
        return {contexts_.data(), n_contexts_};
    }

  private:
    void look_at_threads() noexcept;
    void look_at_launches(std::uint64_t now) noexcept;
    void see_pending(const core::unfinished& u, std::uint64_t now) noexcept;
    void see_running(const core::unfinished& u, std::uint64_t now) noexcept;
    context_progress* progress_of(abi::context context, std::uint64_t now) noexcept;

    std::array<occupied_thread, 256> threads_;
    std::array<waiting_stream, 256> streams_;
    std::array<unmarked_run, 64> runs_;
    std::array<context_progress, 64> contexts_;
    std::size_t n_threads_ = 0;
    std::size_t n_streams_ = 0;
    std::size_t n_runs_ = 0;
    std::size_t n_contexts_ = 0;
};

}  // namespace hostlaunch::diagnosis
