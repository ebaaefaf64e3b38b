// SPDX-License-Identifier: Apache-2.0
// The loop of the background thread, its pauses and its sleep.
#include "core/process/monitor.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

#include "core/process/background_thread.hpp"

namespace hostlaunch::core::monitor {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds shortest_pause{1};
constexpr milliseconds longest_pause{50};
constexpr milliseconds ask_every{500};  // nothing found for so long: is anything to come?

// Read without a lock: written before the thread is started.
constinit duty* first_duty = nullptr;

// Calls f(duty) for each duty.
template <class F>
void for_each_duty(F&& f) noexcept {
    for (duty* d = first_duty; d != nullptr; d = d->next)
        f(*d);
}

// Calls one member of each duty that has it.
void call_each(void (*duty::*member)() noexcept) noexcept {
    for_each_duty([member](duty& d) {
        if (d.*member != nullptr) (d.*member)();
    });
}

// The thread sets the bit before it sleeps; it is set at start, so that the first launch starts it.
void set_sleeping(bool sleeps) noexcept {
    auto& condition = core::detail::condition;
    if (sleeps) {
        condition.fetch_or(core::detail::monitor_sleeps);
    } else {
        condition.fetch_and(~unsigned{core::detail::monitor_sleeps});
    }
}

// Guards the thread's life only; never held across a duty. Never destroyed, and made without
// allocating.
struct life {
    std::mutex mutex;
    std::condition_variable changed;
    bool started = false;
    bool wake = false;
    bool stopping = false;
    bool joined = false;
    pthread_t thread{};
};
life& the_life() noexcept {
    alignas(life) static std::byte room[sizeof(life)];
    static life& l = *new (room) life;
    return l;
}

void update_clock() noexcept {
    static const steady_clock::time_point began = steady_clock::now();
    const auto age = std::chrono::duration_cast<milliseconds>(steady_clock::now() - began);
    detail::coarse_ms.store(static_cast<std::uint32_t>(age.count()), std::memory_order_relaxed);
}

bool look() noexcept {
    update_clock();
    bool found = false;
    for_each_duty([&found](duty& d) { found |= d.look != nullptr && d.look(); });
    return found;
}

bool has_work() noexcept {
    bool any = false;
    for_each_duty([&any](duty& d) { any = any || (d.has_work != nullptr && d.has_work()); });
    return any;
}

// Sets the bit and asks again. A launch moves its record to pending, then reads the bit; we set the
// bit, then walk the records (all sequentially consistent): either the walk finds the launch, moved
// on by the driver's thread or not, or the launch finds the bit and wakes us. A record that has not
// got that far is left to its launching thread, which will find the bit.
bool may_sleep() noexcept {
    if (has_work()) return false;
    set_sleeping(true);
    if (!has_work()) return true;
    set_sleeping(false);
    return false;
}

void look_until_stopped(life& l) noexcept {
    milliseconds pause = shortest_pause;
    auto asked_at = steady_clock::now();
    bool slept = false;
    std::unique_lock lock(l.mutex);
    while (!l.stopping) {
        l.wake = false;
        lock.unlock();
        if (std::exchange(slept, false)) {
            update_clock();
            call_each(&duty::woke);
        }
        const bool found = look();
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
}

void* run(void*) noexcept {
    call_each(&duty::begin);
    look_until_stopped(the_life());
    call_each(&duty::last_look);  // what has run by now ran, and is released
    call_each(&duty::end);
    return nullptr;
}

// Where there is no thread to be had the bit stays set, so that the next launch tries again; so do
// later calls and releases.
void start(life& l) noexcept {
    l.started = start_thread(&l.thread, &run, nullptr);
    detail::start_failed.store(!l.started, std::memory_order_relaxed);
    if (!l.started) {
        set_sleeping(true);
        return;
    }
    static constinit bool registered = false;
    if (!std::exchange(registered, true)) std::atexit([] { stop(milliseconds(1000)); });
}

}  // namespace

void add(duty& d) noexcept {
    duty** end = &first_duty;
    while (*end != nullptr)
        end = &(*end)->next;
    *end = &d;
}

void detail::wake() noexcept {
    if (forked()) return;
    life& l = the_life();
    const std::lock_guard lock(l.mutex);
    if (l.stopping || process_ending()) {  // a thread that starts now would meet the driver's end
        set_sleeping(false);
        start_failed.store(false, std::memory_order_relaxed);
        return;
    }
    if (!l.started) {
        set_sleeping(false);
        start(l);
        return;
    }
    l.wake = true;
    l.changed.notify_all();
}

// The join is what tells that the thread has ended: a flag would be set by a thread that still
// runs, and whose code may be unmapped next.
void stop(milliseconds limit) noexcept {
    if (forked()) return;  // there is no thread, and its mutex may be locked for ever
    life& l = the_life();
    {
        const std::lock_guard lock(l.mutex);
        l.stopping = true;
        l.changed.notify_all();
        const bool own = l.started && pthread_equal(l.thread, pthread_self()) != 0;
        if (!l.started || own || std::exchange(l.joined, true)) return;
    }
    if (join_thread(l.thread, limit.count())) return;
    const std::lock_guard lock(l.mutex);
    l.joined = false;
}

void forget() noexcept {
    if (forked()) set_sleeping(false);  // so that nobody wakes it
}

}  // namespace hostlaunch::core::monitor
