// SPDX-License-Identifier: Apache-2.0
// What waits have in common: how long they last, and that they release what has run.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "core/objects/waits.hpp"
#include "cpython/main_thread.hpp"
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
    release_all_ended();
}

// What the arguments of a wait say.
struct wait_choice {
    std::optional<core::wait_clock::time_point> deadline;
    double seconds = 0;  // until then, as it was given
    bool asleep = false;
};

wait_choice wait_choice_of(nanobind::handle timeout, nanobind::handle blocking);

[[noreturn]] void raise_timeout(const wait_choice& choice, const char* attempted);

// Waits in pieces: a(how) waits for one of them, detached, and throws what fails. Between them the
// main thread lets its signals act. TimeoutError if the deadline comes.
template <class Piece>
void wait_in_pieces(const wait_choice& choice, const char* attempted, Piece&& a) {
    for (;;) {
        auto how = core::waited::disturbed;
        a(&how);
        if (how == core::waited::done) return;
        if (how == core::waited::late) raise_timeout(choice, attempted);
        if (on_main_thread()) raise_pending_signals();
    }
}

}  // namespace hostlaunch::python
