// SPDX-License-Identifier: Apache-2.0
// The loop of the background thread, and its three looks.
#include "core/housekeeper.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/as_is.hpp"
#include "core/context.hpp"
#include "core/outcomes.hpp"
#include "core/process.hpp"
#include "driver/driver.hpp"

namespace hostlaunch::core::housekeeper {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// The thread sets the bit before it sleeps; it is set at start, so that the first launch starts it.
void set_sleeping(bool sleeps) noexcept {
    auto& condition = core::detail::condition;
    if (sleeps) {
        condition.fetch_or(core::detail::housekeeper_sleeps);
    } else {
        condition.fetch_and(~unsigned{core::detail::housekeeper_sleeps});
    }
}

constexpr milliseconds shortest_pause{1};
constexpr milliseconds longest_pause{50};
constexpr milliseconds ask_every{500};        // nothing found for so long: is anything to come?
constexpr milliseconds probe_every{400};      // contract L4: within one second of the failure
constexpr std::uint32_t overdue_after = 300;  // coarse milliseconds

// Guards the thread's life only; never held across a driver call. Never destroyed.
struct life {
    std::mutex mutex;
    std::condition_variable changed;
    bool started = false;
    bool wake = false;
    bool stopping = false;
    bool running = false;
};
life& the_life() {
    static life& l = *new life;
    return l;
}

class watcher {
  public:
    // Returns true if something was found.
    bool look() {
        update_clock();
        bool found = as_is::poll(false);
        found |= release_in_background();
        if (steady_clock::now() - probed_at_ >= probe_every) {
            probed_at_ = steady_clock::now();
            probe_overdue();
        }
        if (take_release_retry()) {
            request_release();
            found |= !release_retry_wanted();
        }
        return found;
    }

    // After a sleep: the clock stood still, so what was launched since has an old time.
    void wake_up() {
        update_clock();
        record_pool& pool = record_pool::instance();
        const std::uint32_t size = pool.size();
        for (std::uint32_t i = 0; i < size; ++i) {
            record& r = pool.at(i);
            if (record::state_of(r.word.load()) != state::pending) continue;
            r.launched_at.store(coarse_now(), std::memory_order_relaxed);
        }
    }

    void update_clock() {
        const auto age = std::chrono::duration_cast<milliseconds>(steady_clock::now() - began_);
        detail::coarse_ms.store(static_cast<std::uint32_t>(age.count()), std::memory_order_relaxed);
    }

  private:
    // Asks each context that has overdue launches whether it still works.
    void probe_overdue() {
        std::vector<abi::context> asked;
        record_pool& pool = record_pool::instance();
        const std::uint32_t size = pool.size();
        for (std::uint32_t i = 0; i < size; ++i) {
            const record& r = pool.at(i);
            if (record::state_of(r.word.load()) != state::pending) continue;
            if (coarse_now() - r.launched_at.load(std::memory_order_relaxed) < overdue_after)
                continue;
            const auto context = r.context.load(std::memory_order_relaxed);
            if (std::find(asked.begin(), asked.end(), context) != asked.end()) continue;
            asked.push_back(context);
            if (has_failed(context)) abandon_pending(context);
        }
    }

    // Twice: functions that wait would never run if an error that passes were taken for the end.
    static bool has_failed(abi::context context) {
        const current_context scope(context);
        return says_failed(scope.status()) && says_failed(scope.status());
    }

    // Asks with an event made for the question: one that was kept could die with its context, and
    // the driver does not check handles.
    static bool says_failed(const status& entered) {
        if (!entered.ok()) return is_context_failure(entered.code);
        abi::event event = nullptr;
        const int made = driver_library::api().event_create(&event, abi::event_disable_timing);
        if (made != abi::success) return is_context_failure(made);
        const int code =
            driver_library::api().event_query(event);  // never recorded: tells errors only
        destroy_event(event, code);
        return is_context_failure(code);
    }

    steady_clock::time_point began_ = steady_clock::now();
    steady_clock::time_point probed_at_ = began_;
};

bool has_work() noexcept {
    return any_outstanding() || release_retry_wanted() || background_release_wanted();
}

// Sets the bit and looks again. A launch moves its record to pending, then reads the bit; we set
// the bit, then walk the records (all sequentially consistent): either the walk finds the launch,
// moved on by the driver's thread or not, or the launch finds the bit and wakes us. A record that
// has not got that far is left to its launching thread, which will find the bit.
bool may_sleep() noexcept {
    if (has_work()) return false;
    set_sleeping(true);
    if (!has_work()) return true;
    set_sleeping(false);
    return false;
}

// Looks until it is stopped, then once more: what has run by now ran, and is released.
void look_until_stopped(life& l) {
    const relaxed_capture mode;
    watcher watch;
    milliseconds pause = shortest_pause;
    auto asked_at = steady_clock::now();
    bool slept = false;
    std::unique_lock lock(l.mutex);
    while (!l.stopping) {
        l.wake = false;
        lock.unlock();
        if (std::exchange(slept, false)) watch.wake_up();
        const bool found = watch.look();
        const auto now = steady_clock::now();
        pause = found ? shortest_pause : std::min(pause * 2, longest_pause);
        if (found) asked_at = now;
        const bool ask = now - asked_at >= ask_every;  // it walks the records: not at each look
        if (ask) asked_at = now;
        const bool sleeps = ask && may_sleep();
        lock.lock();
        if (!sleeps) {
            l.changed.wait_for(lock, pause, [&l] { return l.stopping; });
            continue;
        }
        l.changed.wait(lock, [&l] { return l.stopping || l.wake; });
        set_sleeping(false);
        slept = true;
        pause = shortest_pause;
        asked_at = steady_clock::now();
    }
    lock.unlock();
    as_is::poll(true);
    release_in_background();
}

// Tells its end last: exit goes on then, and the driver may not be entered any more.
void run() {
    life& l = the_life();
    look_until_stopped(l);
    const std::lock_guard lock(l.mutex);
    l.running = false;
    l.changed.notify_all();
}

// A thread that no signal interrupts: Ctrl-C belongs to the threads of the program.
void start(life& l) noexcept {
    sigset_t all;
    sigset_t former;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &former);
    try {
        std::thread(run).detach();
        l.started = l.running = true;
        static std::once_flag once;
        std::call_once(once, [] { std::atexit([] { stop(milliseconds(1000)); }); });
    } catch (const std::system_error&) {
        // No thread to be had now: the next launch tries again, since the bit stays set.
    }
    pthread_sigmask(SIG_SETMASK, &former, nullptr);
}

}  // namespace

void detail::wake() noexcept {
    life& l = the_life();
    const std::lock_guard lock(l.mutex);
    if (l.stopping || process_ending()) {  // a thread that starts now would meet the driver's end
        set_sleeping(false);
        return;
    }
    if (!l.started) {
        set_sleeping(false);
        start(l);
        if (!l.started) set_sleeping(true);
        return;
    }
    l.wake = true;
    l.changed.notify_all();
}

void stop(milliseconds limit) noexcept {
    if (forked()) return;  // there is no thread, and its mutex may be locked for ever
    life& l = the_life();
    std::unique_lock lock(l.mutex);
    l.stopping = true;
    l.changed.notify_all();
    l.changed.wait_for(lock, limit, [&l] { return !l.running; });
}

void forget() noexcept {
    if (forked()) set_sleeping(false);  // so that nobody wakes it
}

}  // namespace hostlaunch::core::housekeeper
