// SPDX-License-Identifier: Apache-2.0
// The hub of one asyncio event loop: what has ended, on its way into the loop's thread.
#pragma once

#include <mutex>

#include "cpython/python.hpp"

namespace hostlaunch::python {

// What a hub carries: an object with an asyncio future of the hub's loop that is done when it gets
// there. An awaiter (asyncio_bridge.cpp) begins with it.
struct hub_entry {
    PyObject_HEAD hub_entry* next;  // in the hub's list, which holds a reference
    PyObject* loop_future;          // of asyncio; null: nobody waits any more
};

struct loop_hub {
    PyObject_HEAD PyObject* loop;
    int fd;              // an eventfd that the loop reads
    loop_hub* next_hub;  // in the list of all
    // Guards the list of what has ended; held for a few instructions, never while attaching.
    std::mutex mutex;
    hub_entry* first;
    hub_entry** last;
};

// The hub of a running loop, made if there is none: a new reference, or null with an exception set.
// requires: on the loop's thread.
PyObject* hub_of(PyObject* loop) noexcept;

// Puts an entry on its way; true if the loop must be woken for it. Any thread, attached.
bool deliver(loop_hub& hub, hub_entry& entry) noexcept;

// Wakes the hub's loop. Any thread.
void wake(const loop_hub& hub) noexcept;

bool init_loop_hub();

}  // namespace hostlaunch::python
