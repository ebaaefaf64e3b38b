// SPDX-License-Identifier: Apache-2.0
// User objects: what graphs keep alive, and who ends what nothing keeps any more.
//
// The destructor runs with no lock held, on the thread whose call drops the last reference and
// before that call returns (`end_after`). Where no call does, or the executable that held it was
// ever launched, one thread of the driver runs it, which starts none once the process exits.
//
// requires the driver's mutex, but for `end_after` and `end_here`.
#pragma once

#include <cstdint>

#include "embedded/engine/driver.hpp"

namespace hostlaunch::embedded {

struct user_object_state {
    user_object handle = nullptr;
    std::uint64_t id = 0;  // never used again
    void* value = nullptr;
    host_fn destroy = nullptr;
    std::uint64_t references = 0;       // all of them: the callers', graphs' and executables'
    std::uint64_t owned = 0;            // the callers', which they may release or move
    user_object_state* next = nullptr;  // in an object_list
};

// Null if the thread for destructors cannot be started, which later could not be reported.
user_object_state* create_user_object(void* value, host_fn destroy, unsigned references);

// Null for a handle that is none, or whose references are all released.
user_object_state* find_user_object(user_object handle);

// Puts the object on the list if these were the last ones: a call's own, or driver::dying.
void drop_references(user_object_state& object, std::uint64_t count, object_list& due);

// Runs the destructors on the calling thread. requires: the mutex is not held
void end_here(object_list& due);

// Calls body(lock&, object_list&) with the mutex held, and then runs the destructors that it made
// due. requires: the body throws only before any is
template <class Body>
result end_after(const Body& body) {
    object_list due;
    lock held(the_driver().mutex);
    const result answer = body(held, due);
    held.unlock();
    end_here(due);
    return answer;
}

// Whether every destructor that is due has returned.
bool destructors_are_done(const driver& d);

}  // namespace hostlaunch::embedded
