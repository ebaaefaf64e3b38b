// SPDX-License-Identifier: Apache-2.0
// From marks to what a viewer shows: a track for each thread and for each stream.
//
// On a thread's track: the launching call, the wait for the GIL, the run, the release. On a
// stream's track, in a process of its own for the viewer: how long each function kept the stream,
// and how long it was pending. An arrow leads from each launch to its run. Used by one thread.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <unordered_map>

#include "core/task/thread_log.hpp"
#include "core/task/ticks.hpp"
#include "diagnosis/json_events.hpp"

namespace hostlaunch::diagnosis {

class timeline {
  public:
    explicit timeline(json_events& out);

    void use_scale(const core::time_scale& scale) noexcept { scale_ = scale; }

    // Events of one log come in the order of its thread.
    void add(const core::trace::thread_log& log, const core::trace::event& e);
    void add_lost(const core::trace::thread_log& log, std::uint32_t count);

  private:
    // What is known of a thread: its number, and the run that it has begun and not ended.
    struct progress {
        int thread = 0;
        std::uint64_t running = 0;  // its token
    };

    progress& progress_of(const core::trace::thread_log& log);
    std::int64_t track_of(std::uint64_t stream);
    void name_track(std::int64_t process, std::int64_t track, std::string_view name);
    json_events& begin(char phase, std::int64_t process, std::int64_t track, std::uint64_t at);
    void finish(const core::trace::subject& of);

    void add_span(const progress& p, const core::trace::event& e, std::string_view name);
    void add_launch(const progress& p, const core::trace::event& accepted);
    void add_begin_of_run(const progress& p, const core::trace::event& runs);
    void end_slice(progress& p, std::uint64_t at);
    void add_end_of_run(const core::trace::event& ended);
    void add_release(const progress& p, const core::trace::event& released);

    json_events& out_;
    core::time_scale scale_;
    std::int64_t process_ = getpid();
    std::int64_t streams_ = process_ + (std::int64_t{1} << 32);  // no process has this number
    std::unordered_map<const core::trace::thread_log*, progress> threads_;
    std::unordered_map<std::uint64_t, std::int64_t> tracks_;
};

}  // namespace hostlaunch::diagnosis
