// SPDX-License-Identifier: Apache-2.0
// What the library must know of a kind of task: how it runs, and how it is released. Not for direct
// use.
#pragma once

namespace hostlaunch::detail {

// How a task ended, or a run of one that graphs hold.
enum class outcome : int {
    ran,
    raised,
    abandoned,  // its context failed first
    dropped,    // exit came first
    cancelled,  // its future was
    told,  // from `run` alone: it has ended the task itself, since it had to before it returned
};

// One constant for each kind of task. `payload` is what the task carries.
struct task_type {
    // On the thread that the task's route leads to. May throw, and may be unwound by force. Null
    // for native code, which the driver calls without us.
    outcome (*run)(void* payload);
    // Where the language releases: Python's main thread, or the library's background thread. Null
    // if nothing needs it: then the task ends where it ran, at once.
    void (*destroy)(void* payload) noexcept;
    const char* name = nullptr;
    // Tells whoever waits for the task how it ended: once, before `destroy`; by the thread that ran
    // it or, for what never ran, by the one that releases it. requires: `destroy` and `run`.
    void (*completed)(void* payload, outcome how) noexcept = nullptr;
    // As `run`, while somebody watches: marks by itself when it has what it needs (for Python, the
    // GIL) and calls the function, and when that has returned. Null: marked around `run`.
    outcome (*run_watched)(void* payload) = nullptr;
    // The name of one task where its type does not tell, or null.
    const char* (*name_of)(void* payload) noexcept = nullptr;
    bool enters_driver = false;  // `destroy` does: so it is called without the GIL
};

}  // namespace hostlaunch::detail
