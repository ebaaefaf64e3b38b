// SPDX-License-Identifier: Apache-2.0
// Entry points about executable graphs.
#include "embedded/engine/capture.hpp"
#include "embedded/engine/contexts.hpp"
#include "embedded/engine/execs.hpp"
#include "embedded/engine/graphs.hpp"
#include "embedded/engine/user_objects.hpp"
#include "embedded/entries/calls.hpp"

namespace hostlaunch::embedded {

namespace {

// CUgraphInstantiate_flags. Nothing here is launched from a device, so that flag is refused.
constexpr std::uint64_t auto_free = 1;
constexpr std::uint64_t uploads = 2;  // only with parameters, which name the stream
constexpr std::uint64_t node_priority = 8;

result make_exec(graph_exec* out, graph g, std::uint64_t flags, std::uint64_t known) {
    result why;
    const graph_state* found = find_graph(g, why);
    if (found == nullptr || out == nullptr || (flags & ~known) != 0) {
        return error_invalid_value;
    }
    if (current_context(why) == nullptr) {
        return why;
    }
    const result refused = refuse_unsafe();
    if (refused != success) {
        return refused;
    }
    exec_state* made = instantiate(*found, flags, why);
    if (made == nullptr) {
        return why;
    }
    *out = made->handle;
    return success;
}

result make_exec_with(graph_exec* out, graph g, graph_instantiate_params& params) {
    const lock held(the_driver().mutex);
    params.error_node = nullptr;
    params.outcome = 1;  // CUDA_GRAPH_INSTANTIATE_ERROR
    result answer = success;
    if ((params.flags & uploads) != 0) {
        const stream_state* s = find_stream(params.upload, answer);
        answer = s == nullptr ? answer : refuse_launch(*s);
    }
    if (answer == success) {
        answer = make_exec(out, g, params.flags, auto_free | uploads | node_priority);
    }
    params.outcome = answer == success ? 0 : params.outcome;
    return answer;
}

// Calls body(lock&, exec_state&, stream_state&) if the stream takes work.
template <class Body>
result with_exec_on(graph_exec exec, stream s, Body body) {
    lock held(the_driver().mutex);
    exec_state* found = find_exec(exec);
    result why = error_invalid_value;
    stream_state* on = found == nullptr ? nullptr : find_stream(s, why);
    if (on == nullptr) {
        return why;
    }
    const result refused = refuse_launch(*on);
    return refused != success ? refused : body(held, *found, *on);
}

result end_exec(graph_exec exec, object_list& due) {
    exec_state* found = find_exec(exec);
    if (found == nullptr) {
        return error_invalid_value;
    }
    const result refused = refuse_unsafe();
    if (refused == success) {
        destroy_exec(*found, due);
    }
    return refused;
}

// The outcome tells of graphs that were compared: it says success where none was.
result update(graph_exec exec, graph g, exec_update_result& outcome, object_list& due) {
    outcome = {};
    exec_state* found = find_exec(exec);
    result why;
    const graph_state* from = find_graph(g, why);
    if (found == nullptr || from == nullptr) {
        return error_invalid_value;
    }
    outcome = update_exec(*found, *from, due);
    return outcome.outcome == exec_update_success ? success : error_graph_exec_update_failure;
}

}  // namespace

namespace calls {

result cuGraphInstantiateWithFlags(graph_exec* out, graph g, unsigned long long flags) {
    const lock held(the_driver().mutex);
    return make_exec(out, g, flags, auto_free | node_priority);
}

result cuGraphInstantiateWithParams(graph_exec* out, graph g, graph_instantiate_params* params) {
    return params == nullptr ? error_invalid_value : make_exec_with(out, g, *params);
}

result cuGraphUpload(graph_exec exec, stream s) {
    return with_exec_on(exec, s,
                        [](lock&, const exec_state&, const stream_state&) { return success; });
}

result cuGraphLaunch(graph_exec exec, stream s) {
    return with_exec_on(exec, s, launch_exec);
}

result cuGraphExecDestroy(graph_exec exec) {
    return end_after([&](const lock&, object_list& due) { return end_exec(exec, due); });
}

result cuGraphExecUpdate_v2(graph_exec exec, graph g, exec_update_result* outcome) {
    return outcome == nullptr ? error_invalid_value : end_after([&](const lock&, object_list& due) {
        return update(exec, g, *outcome, due);
    });
}

}  // namespace calls

}  // namespace hostlaunch::embedded
