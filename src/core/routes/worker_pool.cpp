// SPDX-License-Identifier: Apache-2.0
// The seats: who looks, who stands by, who sleeps.
#include "core/routes/worker_pool.hpp"

#include <algorithm>
#include <new>

#include "core/process/background_thread.hpp"
#include "core/process/process.hpp"
#include "core/process/worker_thread.hpp"
#include "core/routes/run_task.hpp"
#include "driver/settings.hpp"

namespace hostlaunch::core {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr microseconds near_work{200};
constexpr microseconds shortest_nap{20};
constexpr microseconds longest_nap{1000};
constexpr microseconds long_nap{50};  // from here on a new task ends it
constexpr microseconds standby_look{50};
constexpr milliseconds standby_stays{1};  // awake, once it was woken: a wake costs the looker 2 us
constexpr unsigned usual_threads = 4;
constexpr unsigned most_threads = 256;

std::atomic<worker_pool*> the_common{nullptr};

unsigned threads_wanted() noexcept {
    const char* said = settings::text("HOSTLAUNCH_WORKERS");
    const auto number = said == nullptr ? std::nullopt : settings::number(said, 1, most_threads);
    return number ? static_cast<unsigned>(*number) : usual_threads;
}

struct thread_start {
    worker_pool* pool;
    int number;
};

}  // namespace

worker_pool& worker_pool::common() {
    static worker_pool& pool = *new worker_pool(threads_wanted());
    the_common.store(&pool, std::memory_order_release);
    return pool;
}

void worker_pool::stop_common() noexcept {
    worker_pool* pool = the_common.load(std::memory_order_acquire);
    if (pool != nullptr) pool->stop(milliseconds(1000));
}

void* worker_pool::thread_main(void* start) {
    const thread_start given = *static_cast<thread_start*>(start);
    delete static_cast<thread_start*>(start);
    worker_thread::enter();
    given.pool->work(given.number);
    return nullptr;
}

bool worker_pool::start_thread(int number) noexcept {
    auto* start = new (std::nothrow) thread_start{this, number};
    pthread_t thread{};
    if (start == nullptr || !core::start_thread(&thread, &thread_main, start)) {
        delete start;
        return false;
    }
    worker_thread::name(thread, number);
    threads_.push_back(thread);  // there is room
    return true;
}

bool worker_pool::start() noexcept {
    if (started_.load(std::memory_order_acquire)) return !stopping_;
    const lock held(mutex_);
    if (stopping_) return false;
    try {
        threads_.reserve(wanted_);
    } catch (const std::bad_alloc&) {
        return !threads_.empty();
    }
    while (threads_.size() < wanted_ && start_thread(static_cast<int>(threads_.size()))) {
    }
    started_.store(threads_.size() == wanted_, std::memory_order_release);
    return !threads_.empty();
}

void worker_pool::add(stream_key key, const signal_entry& s) noexcept {
    signals_.list(key, s);
    pending_.fetch_add(1);
    const bool looker_runs = (runs_.load() & 1) != 0;
    if (unattended_.load() || napping_.load() || (looker_runs && standby_sleeps_.load())) {
        wake_sleepers();
    }
}

void worker_pool::wake_sleepers() noexcept {
    const lock held(mutex_);
    if (unattended_.load()) bench_.notify_one();
    if (napping_.load()) looker_nap_.notify_one();
    if (standby_sleeps_.load()) standby_nap_.notify_one();
}

// One thread, from seat to seat.
void worker_pool::work(int self) {
    lock held(mutex_);
    while (!stopping_) {
        if (looker_ == nobody && pending_.load() != 0) {
            looker_ = self;
            unattended_.store(false);
            if (standby_ == nobody) bench_.notify_one();
            held.unlock();
            look_and_run(self);
            held.lock();
        } else if (looker_ != nobody && standby_ == nobody) {
            stand_by(held, self);
        } else {
            // With nobody looking: `unattended_` was set before `pending_` was read.
            bench_.wait(held);
        }
    }
}

// --- the standby

bool worker_pool::is_stuck(std::uint32_t run) const noexcept {
    return (run & 1) != 0 && runs_.load() == run && pending_.load() != 0;
}

// Watches the looker until it has been in one run for two looks (true) or nothing of the kind was
// seen for a while.
bool worker_pool::watch_looker(lock& held) {
    clock::time_point quiet_since = clock::now();
    std::uint32_t run = runs_.load();
    for (int looks = 0; !stopping_;) {
        standby_nap_.wait_for(held, standby_look);
        looks = is_stuck(run) ? looks + 1 : 0;
        if (looks == 2) return true;
        if (looks > 0) continue;
        const std::uint32_t now = runs_.load();
        if (now != run) quiet_since = clock::now();
        run = now;
        if (clock::now() - quiet_since > standby_stays) return false;
    }
    return false;
}

void worker_pool::stand_by(lock& held, int self) {
    standby_ = self;
    while (!stopping_) {
        standby_sleeps_.store(true);
        const bool wanted = (runs_.load() & 1) != 0 && pending_.load() != 0;
        if (!wanted) standby_nap_.wait(held);
        standby_sleeps_.store(false);
        if (!watch_looker(held)) continue;
        standby_ = nobody;
        looker_ = self;
        runs_.fetch_add(1);  // even: of this looker. The former one finds that it has no seat.
        bench_.notify_one();
        held.unlock();
        look_and_run(self);
        held.lock();
        return;
    }
    standby_ = nobody;
}

// --- the looker

// With nothing pending, and no work near, gives the seat up: true.
bool worker_pool::leave_seat_if_idle() {
    if (pending_.load() != 0) return false;
    if (clock::now() - last_run_ < near_work && !stopping_) return false;
    const lock held(mutex_);
    looker_ = nobody;
    unattended_.store(true);
    return true;  // who added meanwhile is seen by `work`, which looks at `pending_` next
}

void worker_pool::pause_looking(clock::time_point now) {
    const std::uint64_t added = pending_.load() + taken_in_all_;
    if (std::exchange(added_seen_, added) != added) last_news_ = now;
    if (spins_ || now - last_run_ < near_work) return worker_thread::relax();
    const auto eighth = std::chrono::duration_cast<microseconds>(now - last_news_) / 8;
    const microseconds nap = std::clamp(eighth, shortest_nap, longest_nap);
    if (nap < long_nap) return worker_thread::nap(nap);
    lock held(mutex_);
    napping_.store(true);
    if (pending_.load() + taken_in_all_ == added && !stopping_) looker_nap_.wait_for(held, nap);
    napping_.store(false);
}

// Moves what runs next out of `ready_`: one task, or many of a type that runs many at a time. The
// seat may be another's while they run, so they are the caller's.
std::size_t worker_pool::take_ready(taken& out) noexcept {
    const signal_type* type = ready_.front().type;
    const std::size_t most = type->begin_many == nullptr ? 1 : out.size();
    std::size_t count = 0;
    while (!ready_.empty() && ready_.front().type == type && count < most) {
        out[count++] = ready_.front();
        ready_.pop_front();
    }
    taken_in_all_ += count;
    return count;
}

// Runs all that is ready. False if the seat was lost in a run: then nothing of the looker's may be
// touched.
bool worker_pool::run_ready(int self, relaxed_capture& mode) {
    taken tasks;
    while (!ready_.empty() && !stopping_) {
        const std::size_t count = take_ready(tasks);
        runs_.fetch_add(1);
        if (pending_.fetch_sub(count) > count && standby_sleeps_.load()) wake_sleepers();
        mode.leave();
        run_tasks(tasks.data(), count);
        mode.enter();
        const lock held(mutex_);
        if (looker_ != self) return false;
        runs_.fetch_add(1);
        last_run_ = last_news_ = clock::now();
    }
    return true;
}

void worker_pool::look_and_run(int self) {
    relaxed_capture mode;
    while (!stopping_) {
        signals_.look(ready_);
        if (!run_ready(self, mode)) return;
        if (leave_seat_if_idle()) return;
        pause_looking(clock::now());
    }
    const lock held(mutex_);
    if (looker_ == self) looker_ = nobody;
}

// --- the end

void worker_pool::stop(milliseconds limit) noexcept {
    if (forked()) return;  // there are no threads, and the mutex may be locked for ever
    std::vector<pthread_t> threads;
    {
        const lock held(mutex_);
        stopping_.store(true);
        threads.swap(threads_);
        bench_.notify_all();
        standby_nap_.notify_all();
        looker_nap_.notify_all();
    }
    const auto deadline = clock::now() + limit;
    for (const pthread_t thread : threads) {
        const auto left = std::chrono::duration_cast<milliseconds>(deadline - clock::now());
        const bool own = pthread_equal(thread, pthread_self()) != 0;
        if (!own) join_thread(thread, std::max<long>(0, left.count()));
    }
}

}  // namespace hostlaunch::core
