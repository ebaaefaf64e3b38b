// SPDX-License-Identifier: Apache-2.0
// Entry points that enqueue host functions.
#include "embedded/engine/capture.hpp"
#include "embedded/engine/contexts.hpp"
#include "embedded/engine/executor.hpp"
#include "embedded/engine/thread.hpp"
#include "embedded/engine/waits.hpp"
#include "embedded/entries/calls.hpp"

namespace hostlaunch::embedded {

namespace {

constexpr auto relaxed = std::memory_order_relaxed;

// Blocks before the launch as hostlaunch_embedded_set_launch asks for. The context may be gone
// afterwards.
void wait_for_room(lock& held, driver& d, const context_state& ctx) {
    const context handle = ctx.handle;
    ++d.progress_waiters;
    result why;
    while (d.sticky.load(relaxed) == success) {
        const context_state* now = find_context(handle, why);
        const bool full =
            now != nullptr && d.launch_mode == launch_bounded && now->pending >= d.launch_depth;
        const bool behind =
            now != nullptr && d.launch_mode == launch_waits_running && now->running > 0;
        if (!full && !behind) {
            break;
        }
        d.progress.wait(held);
    }
    --d.progress_waiters;
}

// Blocks until what was just enqueued has run, or the knob is turned.
void wait_until_run(lock& held, driver& d, stream handle) {
    result why;
    stream_state* s = find_stream(handle, why);
    if (s == nullptr) {
        return;
    }
    const stream_state* const same = s;
    const std::uint64_t target = s->enqueued;
    ++d.progress_waiters;
    while (s == same && s->completed < target && d.sticky.load(relaxed) == success &&
           d.launch_mode == launch_waits_done) {
        d.progress.wait(held);
        s = find_stream(handle, why);
    }
    --d.progress_waiters;
}

result launch(stream handle, const work& what) {
    driver& d = the_driver();
    lock held(d.mutex);
    result why;
    stream_state* s = find_stream(handle, why);
    if (s == nullptr) {
        return why;
    }
    const bool waits =
        d.launch_mode != launch_queues && !inside_host_function() && s->capture == nullptr;
    if (waits) {
        wait_for_room(held, d, *s->ctx);
        s = find_stream(handle, why);
        if (s == nullptr || d.sticky.load(relaxed) != success) {
            return s == nullptr ? why : d.sticky.load(relaxed);
        }
    }
    if (!ensure_executor(*s->ctx)) {
        return error_out_of_memory;
    }
    const result answer = enqueue(held, *s, what);
    if (waits && answer == success) {
        wait_until_run(held, d, handle);
    }
    return answer;
}

}  // namespace

namespace calls {

result cuLaunchHostFunc(stream s, host_fn fn, void* user_data) {
    if (fn == nullptr) {
        return error_invalid_value;
    }
    work w{};
    w.kind = work_kind::host;
    w.host = {fn, nullptr, s, user_data};
    return launch(s, w);
}

result cuStreamAddCallback(stream s, stream_callback fn, void* user_data, unsigned flags) {
    if (fn == nullptr || flags != 0) {
        return error_invalid_value;
    }
    {
        const lock held(the_driver().mutex);
        result why;
        stream_state* found = find_stream(s, why);
        if (found != nullptr && found->capture != nullptr) {
            return refuse_wait(*found);
        }
    }
    work w{};
    w.kind = work_kind::callback;
    w.host = {nullptr, fn, s, user_data};
    return launch(s, w);
}

}  // namespace calls

}  // namespace hostlaunch::embedded
