// SPDX-License-Identifier: Apache-2.0
// One coalesced pending call drains the list of ended records on the main thread.
#include "tasks/release.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "core/objects/context.hpp"
#include "core/process/process.hpp"
#include "core/task/release.hpp"
#include "cpython/attach.hpp"
#include "cpython/exceptions.hpp"
#include "cpython/main_thread.hpp"
#include "tasks/payload.hpp"

namespace hostlaunch::python {
namespace {

// True from a request until its drain begins, and while the main thread waits in a call that drains
// afterwards. Requesters push, then look; the drain clears, then takes (all sequentially
// consistent): a requester that finds it set is seen by that drain.
std::atomic<bool> scheduled{false};

bool nothing_to_release() noexcept {
    return core::to_release().empty();
}

int drain_from_pending_call(void*) {
    scheduled.store(false);
    release_ended();
    return 0;
}

// False if CPython's queue is full: the monitor asks again.
bool queue_drain() noexcept {
    if (!gate().enter()) return true;  // the exit handler drains
    const bool queued = Py_AddPendingCall(&drain_from_pending_call, nullptr) == 0;
    if (!queued) scheduled.store(false);
    gate().leave();
    return queued;
}

// Without a GIL, CPython may lose sight of a pending call: another thread that looks for its own
// takes away the mark by which the main thread notices this one, until the next is queued. So the
// monitor asks until nothing is left, and while nothing comes of it, one more is queued, each
// time after twice as long as before: the queue is everybody's and holds few, and a main thread in
// C code runs none.
constexpr int most_doubled = 30;
constexpr std::chrono::milliseconds first_repeat{20};
std::atomic<int> repeated{0};
std::atomic<std::chrono::steady_clock::time_point> asked_at{};

bool is_overdue() noexcept {
    const auto waited = std::chrono::steady_clock::now() - asked_at.load();
    return waited >= first_repeat * (1LL << std::min(repeated.load(), most_doubled));
}

// What was asked for has come about, whichever way.
void forget_request() noexcept {
    repeated.store(0);
}

bool request_without_gil() noexcept {
    if (nothing_to_release()) return true;
    const bool again = scheduled.exchange(true);
    if (again && !is_overdue()) return false;
    asked_at.store(std::chrono::steady_clock::now());
    repeated.store(again ? repeated.load() + 1 : 0);
    queue_drain();
    return false;
}

// Any thread, attached or not; takes only a short mutex of CPython's, never the GIL.
bool request_drain() noexcept {
    if constexpr (!has_gil) return request_without_gil();
    if (scheduled.load() || scheduled.exchange(true)) return true;
    return queue_drain();
}

// Detached: the driver is never entered with the GIL.
template <class F>
void in_driver(F&& f) {
    if (core::forked() || core::process_ending()) return;
    without_gil([&f] {
        f();
        return 0;
    });
}

}  // namespace

void release_ended() noexcept {
    if (nothing_to_release() || !on_main_thread()) return;
    release_here();
}

void release_here() noexcept {
    if (core::in_host_function()) return;
    PyObject* exception = take_exception();
    // Finalizers that call CUDA must not harm a capture of this or another thread (contract G4).
    core::relaxed_capture mode(core::relaxed_capture::unentered{});
    bool entered = false;
    core::record_stack detached;  // what must be disposed of without the GIL
    core::to_release().drain([&](core::record& r) {
        if (core::forked()) return;  // by a finalizer of this very drain: all are the parent's
        if (r.type->enters_driver) {
            detached.push(r);
            return;
        }
        if (!entered && !drops_counts_only(r)) {
            in_driver([&mode] { mode.enter(); });
            entered = true;
        }
        core::dispose(r);
    });
    if (entered || !detached.empty()) {
        in_driver([&] {
            detached.drain([](core::record& r) { core::dispose(r); });
            mode.leave();
        });
    }
    forget_request();
    restore_exception(exception);
}

release_follows::release_follows() noexcept
    : promised_(on_main_thread() && !core::in_host_function() && !scheduled.exchange(true)) {}

release_follows::~release_follows() {
    if (promised_) scheduled.store(false);
}

void ask_for_release() noexcept {
    if (!nothing_to_release()) core::request_release();
}

void init_release() {
    core::set_release_hook(&request_drain);
}

void forget_release() noexcept {
    scheduled.store(false);
}

}  // namespace hostlaunch::python
