// SPDX-License-Identifier: Apache-2.0
// User objects: what graphs keep alive, and the thread that ends what nothing keeps any more.
//
// requires the driver's mutex everywhere. No destructor runs in here: the last reference hands the
// object to one thread of the driver, which holds no lock while it calls the destructor and does
// nothing more once the process began to exit.
#pragma once

#include <cstdint>

#include "embedded/driver.hpp"

namespace hostlaunch::embedded {

struct user_object_state {
    user_object handle = nullptr;
    void* value = nullptr;
    host_fn destroy = nullptr;
    std::uint64_t references = 0;       // all of them: the callers', graphs' and executables'
    std::uint64_t owned = 0;            // the callers', which they may release or move
    user_object_state* next = nullptr;  // in driver::dying
};

// Null if the thread for destructors cannot be started, which later could not be reported.
user_object_state* create_user_object(void* value, host_fn destroy, unsigned references);

// Null for a handle that is none, or whose references are all released.
user_object_state* find_user_object(user_object handle);

// The object may be gone afterwards.
void drop_references(user_object_state& object, std::uint64_t count);

// Whether every destructor that is due has returned.
bool destructors_are_done(const driver& d);

}  // namespace hostlaunch::embedded
