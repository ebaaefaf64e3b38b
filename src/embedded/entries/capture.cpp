// SPDX-License-Identifier: Apache-2.0
// Entry points about stream capture.
#include "embedded/engine/capture.hpp"

#include <algorithm>

#include "embedded/engine/contexts.hpp"
#include "embedded/engine/graphs.hpp"
#include "embedded/engine/thread.hpp"
#include "embedded/engine/user_objects.hpp"
#include "embedded/entries/arguments.hpp"
#include "embedded/entries/calls.hpp"

namespace hostlaunch::embedded {

namespace {

bool is_mode(capture_mode mode) {
    return mode == capture_mode::global || mode == capture_mode::thread_local_mode ||
           mode == capture_mode::relaxed;
}

template <class Body>
result with_stream(stream s, Body body) {
    const lock held(the_driver().mutex);
    result why;
    stream_state* found = find_stream(s, why);
    return found == nullptr ? why : body(*found);
}

struct capture_info {
    capture_status* status = nullptr;
    std::uint64_t* id = nullptr;
    graph* built = nullptr;
    const graph_node** tips = nullptr;
    const void** edges = nullptr;
    std::size_t* count = nullptr;
};

// The arrays stay valid until the next call that shows the stream's dependencies. None is null, not
// even an empty one; no edge carries data, so theirs is all zero.
void show_tips(stream_state& s, const capture_info& out) {
    s.tips_shown.clear();
    s.tips_shown.reserve(s.tips.size() + 1);
    s.edges_shown.assign(s.tips.size() + 1, edge_data{});
    for (const node_state* tip : s.tips) {
        s.tips_shown.push_back(tip->handle);
    }
    if (out.tips != nullptr) {
        *out.tips = s.tips_shown.data();
    }
    if (out.edges != nullptr) {
        *out.edges = s.edges_shown.data();
    }
    if (out.count != nullptr) {
        *out.count = s.tips_shown.size();
    }
}

result get_info(stream handle, const capture_info& out) {
    return with_stream(handle, [&](stream_state& s) {
        capture_status status;
        const result answer = capture_status_of(s, status);
        if (out.status == nullptr) {
            return error_invalid_value;
        }
        *out.status = status;
        if (answer != success || status != capture_status::active) {
            return answer;
        }
        if (out.id != nullptr) {
            *out.id = s.capture->id;
        }
        if (out.built != nullptr) {
            *out.built = s.capture->built->handle;
        }
        show_tips(s, out);
        return success;
    });
}

result update_dependencies(stream handle, const graph_node* nodes, std::size_t count,
                           unsigned flags) {
    constexpr unsigned replaces = 1;  // CU_STREAM_SET_CAPTURE_DEPENDENCIES
    return with_stream(handle, [&](stream_state& s) {
        if ((flags & ~replaces) != 0 || (nodes == nullptr && count != 0)) {
            return error_invalid_value;
        }
        std::vector<node_state*> found(count);
        for (std::size_t i = 0; i < count; ++i) {
            found[i] = find_node(nodes[i]);
            if (found[i] == nullptr) {
                return error_invalid_value;
            }
        }
        return set_dependencies(s, found, flags == replaces);
    });
}

// The nodes of a caller's graph that what is captured comes behind.
result begin_capture_into(stream_state& s, graph into, const graph_node* behind, std::size_t count,
                          capture_mode mode) {
    result why;
    graph_state* found = find_graph(into, why);
    if (found == nullptr || is_being_captured(*found) || (behind == nullptr && count != 0)) {
        return error_invalid_value;
    }
    std::vector<node_state*> tips(count);
    for (std::size_t i = 0; i < count; ++i) {
        tips[i] = find_node(behind[i]);
        if (tips[i] == nullptr || tips[i]->owner != found) {
            return error_invalid_value;
        }
    }
    return begin_capture(s, mode, found, tips);
}

}  // namespace

namespace calls {

result cuStreamIsCapturing(stream s, capture_status* status) {
    return with_stream(s, [&](const stream_state& found) {
        return status == nullptr ? error_invalid_value : capture_status_of(found, *status);
    });
}

result cuStreamBeginCapture_v2(stream s, capture_mode mode) {
    return with_stream(s, [&](stream_state& found) {
        return is_mode(mode) ? begin_capture(found, mode) : error_invalid_value;
    });
}

result cuStreamBeginCaptureToGraph(stream s, graph into, const graph_node* behind,
                                   const void* edges, std::size_t count, capture_mode mode) {
    return with_stream(s, [&](stream_state& found) {
        return is_mode(mode) && are_plain(edges, count)
                   ? begin_capture_into(found, into, behind, count, mode)
                   : error_invalid_value;
    });
}

result cuStreamEndCapture(stream s, graph* out) {
    return end_after([&](const lock&, object_list& due) {
        result why;
        stream_state* found = find_stream(s, why);
        return found == nullptr ? why : end_capture(*found, out, due);
    });
}

result cuStreamGetCaptureInfo(stream s, capture_status* status, std::uint64_t* id) {
    return get_info(s, {.status = status, .id = id});
}

result cuStreamGetCaptureInfo_v2(stream s, capture_status* status, std::uint64_t* id, graph* out,
                                 const graph_node** deps, std::size_t* count) {
    return get_info(s, {.status = status, .id = id, .built = out, .tips = deps, .count = count});
}

result cuStreamGetCaptureInfo_v3(stream s, capture_status* status, std::uint64_t* id, graph* out,
                                 const graph_node** deps, const void** edges, std::size_t* count) {
    return get_info(
        s,
        {.status = status, .id = id, .built = out, .tips = deps, .edges = edges, .count = count});
}

result cuThreadExchangeStreamCaptureMode(capture_mode* mode) {
    if (mode == nullptr || !is_mode(*mode)) {
        return error_invalid_value;
    }
    std::swap(*mode, this_thread().mode);
    return success;
}

result cuStreamUpdateCaptureDependencies(stream s, graph_node* nodes, std::size_t count,
                                         unsigned flags) {
    return update_dependencies(s, nodes, count, flags);
}

result cuStreamUpdateCaptureDependencies_v2(stream s, graph_node* nodes, const void* edges,
                                            std::size_t count, unsigned flags) {
    return are_plain(edges, count) ? update_dependencies(s, nodes, count, flags)
                                   : error_invalid_value;
}

}  // namespace calls

}  // namespace hostlaunch::embedded
