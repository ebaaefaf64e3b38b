// SPDX-License-Identifier: Apache-2.0
// One coalesced pending call drains the list of ended records on the main thread, for a while: then
// the main thread rests from releasing, that is gets on with its own work, for as long.
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
#include "tasks/lost_interrupt.hpp"
#include "tasks/payload.hpp"

namespace hostlaunch::python {
namespace {

// True from a request until its drain begins, and while the main thread waits in a call that drains
// afterwards. Requesters push, then look; the drain clears, then takes (all sequentially
// consistent): a requester that finds it set is seen by that drain.
std::atomic<bool> scheduled{false};

using std::chrono::steady_clock;

// What a drain has taken from the queue and left for the next, oldest first.
std::atomic<core::record*> in_hand{nullptr};

bool nothing_to_release() noexcept {
    return core::to_release().empty() && in_hand.load() == nullptr;
}

core::record* take_next() noexcept {
    core::record* r = in_hand.load(std::memory_order_relaxed);
    if (r == nullptr) r = core::to_release().take_all();
    if (r != nullptr) in_hand.store(core::record_stack::after(*r));
    return r;
}

// The main thread releases for so long at a stretch, plus the finalizer that is running.
constexpr std::chrono::milliseconds longest_stretch{5};

// While the main thread rests, `scheduled` stays set, so that the monitor alone asks again.
std::atomic<steady_clock::rep> rest_ends{0};  // 0: it does not rest

bool rests() noexcept {
    const auto end = rest_ends.load();
    return end != 0 && steady_clock::now().time_since_epoch().count() < end;
}

void begin_rest(steady_clock::duration length) noexcept {
    rest_ends.store((steady_clock::now() + length).time_since_epoch().count());
    scheduled.store(true);
    core::request_release_later();
}

// Before a drain takes: what is pushed from now on is asked for anew.
void end_rest() noexcept {
    if (rest_ends.exchange(0) != 0) scheduled.store(false);
}

int drain_from_pending_call(void*) {
    if (rests()) return 0;
    end_rest();
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
std::atomic<steady_clock::time_point> asked_at{};

bool is_overdue() noexcept {
    const auto waited = steady_clock::now() - asked_at.load();
    return waited >= first_repeat * (1LL << std::min(repeated.load(), most_doubled));
}

// What was asked for has come about, whichever way.
void forget_request() noexcept {
    repeated.store(0);
}

bool request_without_gil() noexcept {
    if (nothing_to_release()) return true;
    if (rests()) return false;
    const bool again = scheduled.exchange(true);
    if (again && !is_overdue()) return false;
    asked_at.store(steady_clock::now());
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

// For the monitor, where asking failed or the main thread rests: whoever asked before is done with.
bool request_again() noexcept {
    if constexpr (!has_gil) return request_without_gil();
    if (rests()) return false;
    rest_ends.store(0);
    scheduled.store(false);
    if (nothing_to_release()) return true;
    const bool asked = request_drain();
    if (asked) make_main_look();
    return asked;
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

// One turn of releasing. What must be disposed of without the GIL is left to its end.
class turn {
  public:
    turn() noexcept : exception_(take_exception()) {}
    ~turn() {
        catcher_.remove();
        if (entered_ || !detached_.empty()) in_driver([this] { dispose_of_detached(); });
        restore_exception(exception_);
    }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;

    // True if finalizers may have run.
    bool dispose_of(core::record& r) noexcept {
        if (r.type->enters_driver) {
            detached_.push(r);
            return false;
        }
        const bool finalizes = !drops_counts_only(r);
        if (finalizes) prepare_for_finalizers();
        core::dispose(r);
        return finalizes;
    }

  private:
    // Those that call CUDA must not harm a capture of this or another thread (contract G4).
    void prepare_for_finalizers() noexcept {
        catcher_.install();
        if (entered_) return;
        in_driver([this] { mode_.enter(); });
        entered_ = true;
    }

    void dispose_of_detached() noexcept {
        detached_.drain([](core::record& r) { core::dispose(r); });
        mode_.leave();
    }

    PyObject* exception_;
    interrupt_catcher catcher_;
    core::relaxed_capture mode_{core::relaxed_capture::unentered{}};
    core::record_stack detached_;
    bool entered_ = false;
};

thread_local bool releasing = false;

// A finalizer that waits on the main thread has what was pushed since released, and no more: to go
// on with the list here would go one level deeper for each such finalizer.
void release_nested() noexcept {
    turn now;
    core::to_release().drain([&](core::record& r) {
        if (!core::forked()) now.dispose_of(r);
    });
}

// Releases until nothing is left, `stop` says so after a finalizer, or a Ctrl-C comes, also into a
// finalizer. False in that case.
template <class Stop>
bool release_until(Stop&& stop) noexcept {
    turn now;
    while (core::record* r = take_next()) {
        if (!now.dispose_of(*r)) continue;
        if (core::forked()) break;  // by a finalizer: the others are the parent's
        if (interrupt_catcher::take()) return false;
        if (stop()) break;
    }
    return true;
}

template <class Stop>
bool release_once(Stop&& stop) noexcept {
    releasing = true;
    const bool undisturbed = release_until(stop);
    releasing = false;
    forget_request();
    return undisturbed;
}

// Raised again where it reaches the program: at the next instruction of the main thread, before any
// finalizer.
void pass_on_interrupt() noexcept {
    begin_rest(longest_stretch);
    PyErr_SetInterrupt();
}

bool may_release() noexcept {
    return !nothing_to_release() && on_main_thread() && !core::in_host_function();
}

}  // namespace

void release_ended() noexcept {
    if (!may_release() || releasing || rests()) return;
    end_rest();
    const auto begin = steady_clock::now();
    const auto over = [begin] { return steady_clock::now() - begin >= longest_stretch; };
    if (!release_once(over)) return pass_on_interrupt();
    if (over()) begin_rest(steady_clock::now() - begin);
}

void release_all_ended() noexcept {
    if (!may_release()) return;
    if (releasing) return release_nested();
    end_rest();
    if (!release_once([] { return false; })) pass_on_interrupt();
}

bool release_at_exit() noexcept {
    while (!nothing_to_release()) {
        if (core::process_ending() || core::in_host_function() || core::forked()) break;
        if (releasing) release_nested();
        if (!release_once([] { return false; })) return false;
    }
    return true;
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
    core::set_release_hook(&request_drain, &request_again);
}

void forget_release() noexcept {
    in_hand.store(nullptr);
    rest_ends.store(0);
    scheduled.store(false);
}

}  // namespace hostlaunch::python
