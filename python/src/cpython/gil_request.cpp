// SPDX-License-Identifier: Apache-2.0
// The pending call that lets driver threads have the GIL, and how much of it.
//
// Invariant: a thread that waits is counted in `waiting` before it looks at `requested`, and the
// pending call clears `requested` before it looks at `waiting` (all sequentially consistent). So
// either the call sees the thread, or the thread sees that a call of its own is needed. While
// CPython's queue is full, nobody is asked, and threads wait for the switch interval.
#include "cpython/gil_request.hpp"

#if !defined(Py_GIL_DISABLED)

#include <errno.h>
#include <semaphore.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>

namespace hostlaunch::python {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

// The longest that one call keeps the main thread out; a thread that was not in by then waits for
// the switch interval as any other.
constexpr nanoseconds longest_pause = std::chrono::milliseconds(5);

// The main thread stands aside for as long as it ran before, and no longer: a thread that calls
// without end takes half its time. This much it can save up, so that a burst gets through at once,
// and owe.
constexpr nanoseconds most_credit = std::chrono::milliseconds(10);

std::atomic<int> waiting{0};
std::atomic<bool> requested{false};

// True while the main thread stands aside: whoever gets in then posts, and nobody else does. Pairs
// with `waiting`: who is no longer counted has either seen it or is seen to be in.
std::atomic<bool> aside{false};

sem_t& got_in() noexcept {
    static struct arrivals {
        sem_t semaphore;
        arrivals() noexcept { sem_init(&semaphore, 0, 0); }
    } the_arrivals;
    return the_arrivals.semaphore;
}

// Until nobody waits for the GIL, or the time is up. Detached.
void stand_aside_until(steady_clock::time_point limit) noexcept {
    const auto since_start = limit.time_since_epoch();
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(since_start);
    const timespec at{static_cast<time_t>(whole.count()),
                      static_cast<long>(nanoseconds(since_start - whole).count())};
    while (sem_trywait(&got_in()) == 0) {  // posts of an earlier time
    }
    aside.store(true);
    while (waiting.load() != 0) {
        if (sem_clockwait(&got_in(), CLOCK_MONOTONIC, &at) != 0 && errno != EINTR) break;
    }
    aside.store(false);
}

// What the main thread can afford; used by it alone.
struct {
    nanoseconds credit = most_credit;
    steady_clock::time_point counted_until;
} budget;

// On the main thread, attached, between two of its instructions.
int let_them_in(void*) {
    requested.store(false);
    if (waiting.load() == 0) return 0;
    const auto begin = steady_clock::now();
    budget.credit = std::min(most_credit, budget.credit + (begin - budget.counted_until));
    if (budget.credit > nanoseconds(0)) {
        PyThreadState* state = PyEval_SaveThread();
        stand_aside_until(begin + longest_pause);
        PyEval_RestoreThread(state);
    }
    budget.counted_until = steady_clock::now();
    budget.credit = std::max(-most_credit, budget.credit - (budget.counted_until - begin));
    return 0;
}

}  // namespace

void begin_wait_for_gil() noexcept {
    waiting.fetch_add(1);
    if (requested.load() || requested.exchange(true)) return;
    // With the queue full it is asked for by the next one that waits.
    if (Py_AddPendingCall(&let_them_in, nullptr) != 0) requested.store(false);
}

void end_wait_for_gil() noexcept {
    waiting.fetch_sub(1);
    if (aside.load()) sem_post(&got_in());
}

}  // namespace hostlaunch::python

#endif
