// SPDX-License-Identifier: Apache-2.0
// Entry points about user objects.
#include <climits>

#include "embedded/engine/contexts.hpp"
#include "embedded/engine/graphs.hpp"
#include "embedded/engine/memory.hpp"
#include "embedded/engine/user_objects.hpp"
#include "embedded/entries/calls.hpp"

namespace hostlaunch::embedded {

namespace {

bool is_count(unsigned count) {
    return count != 0 && count <= INT_MAX;
}

// As measured, more references than any other call can count are taken.
result create(user_object* out, void* value, host_fn destroy, unsigned references, unsigned flags) {
    if (out == nullptr || destroy == nullptr || references == 0 ||
        flags != user_object_no_destructor_sync) {
        return error_invalid_value;
    }
    const lock held(the_driver().mutex);
    const user_object_state* made = create_user_object(value, destroy, references);
    if (made == nullptr) {
        return error_out_of_memory;
    }
    *out = made->handle;
    return success;
}

result retain(user_object object, unsigned count) {
    const lock held(the_driver().mutex);
    user_object_state* found = find_user_object(object);
    if (found == nullptr || !is_count(count)) {
        return error_invalid_value;
    }
    found->references += count;
    found->owned += count;
    return success;
}

result release(user_object object, unsigned count, object_list& due) {
    user_object_state* found = find_user_object(object);
    if (found == nullptr || !is_count(count) || found->owned < count) {
        return error_invalid_value;
    }
    found->owned -= count;
    drop_references(*found, count, due);
    return success;
}

result graph_retain(graph g, user_object object, unsigned count, unsigned flags) {
    const lock held(the_driver().mutex);
    result why;
    graph_state* owner = find_graph(g, why);
    user_object_state* found = find_user_object(object);
    const bool move = flags == graph_user_object_move;
    if (owner == nullptr || found == nullptr || !is_count(count) || (flags != 0 && !move) ||
        (move && found->owned < count)) {
        return error_invalid_value;
    }
    retain_references(*owner, *found, count, move);
    return success;
}

result graph_release(graph g, user_object object, unsigned count, object_list& due) {
    result why;
    graph_state* owner = find_graph(g, why);
    const user_object_state* found = find_user_object(object);
    const bool released = owner != nullptr && found != nullptr && is_count(count) &&
                          release_references(*owner, *found, count, due);
    return released ? success : error_invalid_value;
}

}  // namespace

namespace calls {

result cuUserObjectCreate(user_object* out, void* value, host_fn destroy, unsigned references,
                          unsigned flags) {
    return create(out, value, destroy, references, flags);
}

result cuUserObjectRetain(user_object object, unsigned count) {
    return retain(object, count);
}

result cuUserObjectRelease(user_object object, unsigned count) {
    return end_after([&](const lock&, object_list& due) { return release(object, count, due); });
}

result cuGraphRetainUserObject(graph g, user_object object, unsigned count, unsigned flags) {
    return graph_retain(g, object, count, flags);
}

result cuGraphReleaseUserObject(graph g, user_object object, unsigned count) {
    return end_after(
        [&](const lock&, object_list& due) { return graph_release(g, object, count, due); });
}

}  // namespace calls

}  // namespace hostlaunch::embedded
