// SPDX-License-Identifier: Apache-2.0
// Entry points about events.
#include "embedded/engine/capture.hpp"
#include "embedded/engine/contexts.hpp"
#include "embedded/engine/waits.hpp"
#include "embedded/entries/calls.hpp"

namespace hostlaunch::embedded {

namespace {

constexpr unsigned event_interprocess = 4;

result sticky_error() {
    return the_driver().sticky.load(std::memory_order_relaxed);
}

result make_event(event* out, unsigned flags) {
    constexpr unsigned known = event_blocking_sync | event_disable_timing;
    const lock held(the_driver().mutex);
    result why;
    context_state* ctx = current_context(why);
    if (ctx == nullptr) {
        return why;
    }
    if (out == nullptr || (flags & ~known) != 0) {
        return (flags & event_interprocess) != 0 ? error_not_supported : error_invalid_value;
    }
    *out = create_event(*ctx, flags).handle;
    return success;
}

result end_event(event e) {
    const lock held(the_driver().mutex);
    result why;
    event_state* found = find_event(e, why);
    if (found == nullptr) {
        the_driver().handles.forget_orphan(handle_kind::event, handle_bits(e));
        return why;
    }
    destroy_event(*found);
    return success;
}

result record(event e, stream s, unsigned flags) {
    constexpr unsigned external = 1;  // CU_EVENT_RECORD_EXTERNAL
    lock held(the_driver().mutex);
    result why;
    event_state* recorded = find_event(e, why);
    stream_state* found = recorded == nullptr ? nullptr : find_stream(s, why);
    if (found == nullptr) {
        return why;
    }
    if ((flags & ~external) != 0 || (flags != 0 && found->capture == nullptr)) {
        return error_invalid_value;
    }
    return record_event(held, *found, *recorded, flags == external);
}

// A sticky error is seen in every event, never-recorded ones included; that the context is gone
// goes before it.
event_state* find_live_event(event e, result& why) {
    event_state* found = find_event(e, why);
    if (found != nullptr && sticky_error() != success) {
        why = sticky_error();
        return nullptr;
    }
    if (found != nullptr) {
        why = refuse_event_wait(*found);
    }
    return why == success ? found : nullptr;
}

result query(event e) {
    const lock held(the_driver().mutex);
    result why;
    const event_state* found = find_live_event(e, why);
    if (found == nullptr) {
        return why;
    }
    return found->done ? success : error_not_ready;
}

result synchronize(event e) {
    lock held(the_driver().mutex);
    result why;
    event_state* found = find_live_event(e, why);
    return found == nullptr ? why : wait_for_event(held, *found);
}

result elapsed(float* milliseconds, event start, event end) {
    const lock held(the_driver().mutex);
    result why;
    const event_state* from = find_event(start, why);
    const event_state* to = from == nullptr ? nullptr : find_event(end, why);
    if (to == nullptr) {
        return why;
    }
    if (milliseconds == nullptr) {
        return error_invalid_value;
    }
    const bool timed = ((from->flags | to->flags) & event_disable_timing) == 0;
    if (!timed || from->last_record == 0 || to->last_record == 0 || from->ctx != to->ctx) {
        return error_invalid_handle;
    }
    if (!from->done || !to->done) {
        return error_not_ready;
    }
    *milliseconds =
        static_cast<float>(static_cast<double>(to->nanoseconds - from->nanoseconds) / 1e6);
    return success;
}

}  // namespace

namespace calls {

result cuEventCreate(event* out, unsigned flags) {
    return make_event(out, flags);
}

result cuEventDestroy_v2(event e) {
    return end_event(e);
}

result cuEventRecord(event e, stream s) {
    return record(e, s, 0);
}

result cuEventRecordWithFlags(event e, stream s, unsigned flags) {
    return record(e, s, flags);
}

result cuEventQuery(event e) {
    return query(e);
}

result cuEventSynchronize(event e) {
    return synchronize(e);
}

result cuEventElapsedTime(float* milliseconds, event start, event end) {
    return elapsed(milliseconds, start, end);
}

result cuEventElapsedTime_v2(float* milliseconds, event start, event end) {
    return elapsed(milliseconds, start, end);
}

}  // namespace calls

}  // namespace hostlaunch::embedded
