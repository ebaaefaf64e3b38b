// SPDX-License-Identifier: Apache-2.0
// The embedded driver's second table: knobs that make it fail, block, step and tell what it saw.
//
// Plain C functions exported by libhostlaunch_embedded.so, so that C++ tests, ctypes and users' own
// tests reach them through dlsym. All may be called from any thread at any time, but from inside a
// host function only the ones that say so. `entry` is always the base name, e.g.
// "cuLaunchHostFunc".
#pragma once

#include <cstdint>

extern "C" {

// Puts every knob back to its default, forgets the log, the violations and injected failures, ends
// holds and launches that wait. A sticky error stays: like a real one it lasts as long as the
// process. The counters of `hostlaunch_embedded_calls` stay too.
void hostlaunch_embedded_reset(void);

// The n-th call of `entry` from now (1 = the next) returns `result` and does nothing else.
// Several may be armed at once. Returns 0, or 1 if there is no such entry.
int hostlaunch_embedded_fail_call(const char* entry, int nth, int result);
// The same for the calls of the calling thread alone: what other threads call does not count.
int hostlaunch_embedded_fail_own_call(const char* entry, int nth, int result);

// From now on every call that can report earlier asynchronous errors returns `result` on every
// device; pending host functions never run; one that is running finishes. Functions of
// cuStreamAddCallback do run, with `result` as their status. The first error stays.
void hostlaunch_embedded_sticky_error(int result);

// Which threads run host functions. Counts for functions that become ready from then on.
enum {
    hostlaunch_embedded_threads_per_context = 0,  // the default, as measured on a GPU
    hostlaunch_embedded_threads_per_stream = 1,
    hostlaunch_embedded_threads_fresh = 2,  // a new thread with a 256 KiB stack for each function
};
void hostlaunch_embedded_set_threads(int mode);

// How cuLaunchHostFunc returns, but from inside a host function or on a capturing stream, where it
// never waits. Turning the knob lets go of launches that wait by the old setting.
enum {
    hostlaunch_embedded_launch_queues = 0,         // the default: returns at once
    hostlaunch_embedded_launch_waits_running = 1,  // waits while a function of the context runs
    hostlaunch_embedded_launch_waits_done = 2,     // returns after the function itself has run
    hostlaunch_embedded_launch_bounded = 3,        // waits for room in a queue of `depth` functions
};
void hostlaunch_embedded_set_launch(int mode, int depth);

// Manual stepping: while on, host functions run only when stepped. `step` lets up to n more run,
// waits until n have ended or `timeout_ms` has passed (also if fewer are pending), and returns how
// many ran. What did not start in time does not start later.
void hostlaunch_embedded_set_manual(int on);
int hostlaunch_embedded_step(int n, int timeout_ms);

// Every call of `entry` from now on blocks on entry until `release` is called for it.
// `wait_held` waits until at least n threads are blocked there; returns how many are.
int hostlaunch_embedded_hold(const char* entry);
void hostlaunch_embedded_release(const char* entry);
int hostlaunch_embedded_wait_held(const char* entry, int n, int timeout_ms);

// A log of calls, off by default: entry name and up to four pointer-sized arguments each, in order.
// At most 65,536 are kept; later ones are only counted.
struct hostlaunch_embedded_call {
    const char* entry;
    std::uint64_t args[4];
    std::uint64_t thread;  // an id of the calling thread, equal for equal threads (gettid)
    int result;            // -1 while the call is in progress
    int in_host_function;  // 1 if the caller was a thread that runs host functions
};
void hostlaunch_embedded_set_log(int on);
int hostlaunch_embedded_log_size(void);
int hostlaunch_embedded_log_get(int index,
                                struct hostlaunch_embedded_call* out);  // 0, or 1 if none
std::uint64_t hostlaunch_embedded_calls(const char* entry);  // calls since load, log on or off

// `check` is called at each driver entry on the calling thread; where it returns non-zero, the
// entry counts as a violation (the caller holds a lock that it must not hold). Null switches off.
void hostlaunch_embedded_set_entry_check(int (*check)(void));
int hostlaunch_embedded_violations(void);
const char* hostlaunch_embedded_first_violation(void);  // an entry's name, or null

// Objects alive now: "streams", "events", "device_memory", "host_memory", "pending" (host
// functions not started), "graphs" (clones and child graphs too), "graph_execs" (until their last
// launch has completed), "user_objects" (until their destructor has returned). And "destructors":
// how many of those have run since load. -1 for an unknown name.
std::int64_t hostlaunch_embedded_live(const char* what);

// Waits until nothing is queued or running anywhere and no destructor is due. 0, or 1 after
// timeout_ms.
int hostlaunch_embedded_wait_idle(int timeout_ms);

}  // extern "C"
