// SPDX-License-Identifier: Apache-2.0
// What waits have in common, a header alone since it is a template: they release what has run.
#pragma once

#include <nanobind/nanobind.h>

#include "tasks/release.hpp"

namespace hostlaunch::python {

// A Ctrl-C that came during a wait is raised by the wait, not inside some finalizer that is
// released behind it, where it would be lost.
inline void raise_pending_signals() {
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

// Releases after a wait, or lets the main thread do it later if the wait ends with an exception.
template <class Wait>
void wait_and_release(Wait&& wait) {
    try {
        {
            const release_follows promise;
            wait();
        }
        raise_pending_signals();
    } catch (...) {
        ask_for_release();
        throw;
    }
    release_ended();
}

}  // namespace hostlaunch::python
