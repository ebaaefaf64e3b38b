// SPDX-License-Identifier: Apache-2.0
// Entry points about streams.
#include <algorithm>
#include <cstring>

#include "embedded/engine/capture.hpp"
#include "embedded/engine/contexts.hpp"
#include "embedded/engine/limits.hpp"
#include "embedded/engine/queues.hpp"
#include "embedded/engine/user_objects.hpp"
#include "embedded/engine/waits.hpp"
#include "embedded/entries/calls.hpp"

namespace hostlaunch::embedded {

namespace {

result make_stream(stream* out, unsigned flags, int priority) {
    const lock held(the_driver().mutex);
    result why;
    context_state* ctx = current_context(why);
    if (ctx == nullptr) {
        return why;
    }
    if (out == nullptr || (flags & ~stream_non_blocking) != 0) {
        return error_invalid_value;
    }
    const int clamped = std::clamp(priority, greatest_priority, least_priority);
    *out = create_stream(*ctx, flags, clamped).handle;
    return success;
}

bool is_token(stream s) {
    return s == nullptr || s == stream_legacy || s == stream_per_thread;
}

result end_stream(stream s, object_list& due) {
    if (is_token(s)) {
        return error_invalid_handle;
    }
    result why;
    stream_state* found = find_stream(s, why);
    if (found == nullptr) {
        the_driver().handles.forget_orphan(handle_kind::stream, handle_bits(s));
        return why;
    }
    destroy_stream(*found, due);
    return success;
}

// CUstreamAttrID: of those that there are, the two that are kept.
constexpr int of_wait_policy = 3;
constexpr int of_priority = 8;

bool is_attribute(int attribute) {
    return attribute == of_wait_policy || attribute == of_priority;
}

// Runs `body(stream_state&)` with the mutex held, or says why there is no such stream.
template <class Body>
result with_stream(stream s, Body body) {
    const lock held(the_driver().mutex);
    result why;
    stream_state* found = find_stream(s, why);
    return found == nullptr ? why : body(*found);
}

template <class Out, class Read>
result read_from_stream(stream s, Out* out, Read read) {
    return with_stream(s, [&](const stream_state& found) {
        if (out == nullptr) {
            return error_invalid_value;
        }
        *out = read(found);
        return success;
    });
}

result synchronize(stream s) {
    lock held(the_driver().mutex);
    result why;
    stream_state* found = find_stream(s, why);
    if (found == nullptr) {
        return why;
    }
    const result refused = refuse_wait(*found);
    return refused != success ? refused : wait_for_stream(held, *found);
}

result query(stream s) {
    return with_stream(s, [](const stream_state& found) {
        const result refused = refuse_wait(found);
        if (refused != success) {
            return refused;
        }
        return is_complete(found) ? success : error_not_ready;
    });
}

result wait_for_event_in_stream(stream s, event e, unsigned flags) {
    constexpr unsigned external = 1;  // CU_EVENT_WAIT_EXTERNAL
    lock held(the_driver().mutex);
    result why;
    stream_state* found = find_stream(s, why);
    event_state* awaited = found == nullptr ? nullptr : find_event(e, why);
    if (awaited == nullptr) {
        return why;
    }
    if ((flags & ~external) != 0 || (flags != 0 && found->capture == nullptr)) {
        return error_invalid_value;
    }
    return wait_event(held, *found, *awaited, flags == external);
}

}  // namespace

namespace calls {

result cuStreamCreate(stream* out, unsigned flags) {
    return make_stream(out, flags, 0);
}

result cuStreamCreateWithPriority(stream* out, unsigned flags, int priority) {
    return make_stream(out, flags, priority);
}

result cuStreamDestroy_v2(stream s) {
    return end_after([&](const lock&, object_list& due) { return end_stream(s, due); });
}

result cuStreamSynchronize(stream s) {
    return synchronize(s);
}

result cuStreamQuery(stream s) {
    return query(s);
}

result cuStreamGetCtx(stream s, context* out) {
    const auto read = [](const stream_state& found) { return found.ctx->handle; };
    return read_from_stream(s, out, read);
}

result cuStreamGetCtx_v2(stream s, context* out, void** green) {
    const auto read = [&](const stream_state& found) {
        if (green != nullptr) {
            *green = nullptr;  // there are no green contexts here
        }
        return found.ctx->handle;
    };
    return read_from_stream(s, out, read);
}

result cuStreamGetId(stream s, unsigned long long* id) {
    const auto read = [](const stream_state& found) { return found.id; };
    return read_from_stream(s, id, read);
}

result cuStreamGetFlags(stream s, unsigned* flags) {
    const auto read = [](const stream_state& found) { return found.flags; };
    return read_from_stream(s, flags, read);
}

result cuStreamGetPriority(stream s, int* priority) {
    const auto read = [](const stream_state& found) { return found.priority; };
    return read_from_stream(s, priority, read);
}

result cuStreamGetDevice(stream s, device* out) {
    const auto read = [](const stream_state& found) { return found.ctx->dev; };
    return read_from_stream(s, out, read);
}

// CUstreamAttrValue is a union of 64 bytes; each of the attributes that matter here is its first
// int.
result cuStreamGetAttribute(stream s, int attribute, void* value) {
    return with_stream(s, [&](const stream_state& found) {
        if (value == nullptr || !is_attribute(attribute)) {
            return error_invalid_value;
        }
        constexpr std::size_t union_bytes = 64;
        std::memset(value, 0, union_bytes);
        *static_cast<int*>(value) = attribute == of_priority ? found.priority : found.wait_policy;
        return success;
    });
}

result cuStreamSetAttribute(stream s, int attribute, const void* value) {
    return with_stream(s, [&](stream_state& found) {
        if (value == nullptr || !is_attribute(attribute)) {
            return error_invalid_value;
        }
        const int given = *static_cast<const int*>(value);
        if (attribute == of_priority) {
            found.priority = std::clamp(given, greatest_priority, least_priority);
        } else {
            found.wait_policy = given;
        }
        return success;
    });
}

result cuStreamCopyAttributes(stream to, stream from) {
    const lock held(the_driver().mutex);
    result why;
    const stream_state* source = find_stream(from, why);
    stream_state* target = source == nullptr ? nullptr : find_stream(to, why);
    if (target == nullptr) {
        return why;
    }
    target->wait_policy = source->wait_policy;
    return success;
}

result cuStreamWaitEvent(stream s, event e, unsigned flags) {
    return wait_for_event_in_stream(s, e, flags);
}

}  // namespace calls

}  // namespace hostlaunch::embedded
