// SPDX-License-Identifier: Apache-2.0
// The list of logs, and writing into one.
#include "core/task/thread_log.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <new>

namespace hostlaunch::core::trace {

namespace {

constexpr int most_logs = 1024;
constexpr int most_rings = 64;  // of 768 KiB each, as far as they are filled

}  // namespace

// The list only grows; each log is taken by one thread at a time.
struct logs {
    static inline constinit std::atomic<thread_log*> first{nullptr};
    static inline constinit std::atomic<int> count{0};

    static bool take(thread_log& log) noexcept {
        bool expected = false;
        if (!log.taken_.compare_exchange_strong(expected, true)) return false;
        // What a former owner left is told under its number: not until that is read.
        if (log.read_.load() == log.written_.load()) return true;
        log.taken_.store(false);
        return false;
    }

    static thread_log* make() noexcept {
        if (count.fetch_add(1) >= most_logs) {
            count.fetch_sub(1);
            return nullptr;
        }
        auto* log = new (std::nothrow) thread_log;
        if (log == nullptr) return nullptr;
        log->taken_.store(true);
        thread_log* head = first.load();
        do {
            log->next_.store(head, std::memory_order_relaxed);
        } while (!first.compare_exchange_weak(head, log));  // publishes the log
        return log;
    }

    static thread_log* acquire() noexcept {
        thread_log* log = first.load();
        while (log != nullptr && !take(*log))
            log = next(*log);
        if (log == nullptr) log = make();
        if (log == nullptr) return nullptr;
        log->thread_.store(static_cast<int>(syscall(SYS_gettid)), std::memory_order_relaxed);
        log->handle_.store(pthread_self(), std::memory_order_relaxed);
        return log;
    }

    static void give_back(thread_log& log) noexcept {
        log.clear_current();
        log.taken_.store(false);
    }
    static thread_log* next(const thread_log& log) noexcept {
        return log.next_.load(std::memory_order_relaxed);
    }
};

namespace {

// Found without a call once it is there.
constinit __attribute__((tls_model("initial-exec"))) thread_local thread_log* mine = nullptr;

struct giver_back {
    giver_back() = default;
    giver_back(const giver_back&) = delete;
    giver_back& operator=(const giver_back&) = delete;
    ~giver_back() {
        if (mine != nullptr) logs::give_back(*mine);
        mine = nullptr;
    }
    bool used = false;
};

[[gnu::noinline, gnu::cold]] thread_log* make_mine() noexcept {
    static thread_local giver_back at_thread_end;
    // A thread that marks behind its own end leaves its log taken.
    mine = logs::acquire();
    at_thread_end.used = true;
    return mine;
}

}  // namespace

thread_log* first_log() noexcept {
    return logs::first.load(std::memory_order_acquire);
}
thread_log* next_log(const thread_log& log) noexcept {
    return logs::next(log);
}

thread_log* log_of_this_thread() noexcept {
    return mine != nullptr ? mine : make_mine();
}

event* thread_log::ring() noexcept {
    static constinit std::atomic<int> rings{0};
    event* made = ring_.load(std::memory_order_relaxed);
    if (made != nullptr || rings.load() >= most_rings) return made;
    rings.fetch_add(1);
    made = static_cast<event*>(std::malloc(ring_events * sizeof(event)));  // not touched before use
    ring_.store(made, std::memory_order_relaxed);
    return made;
}

void thread_log::add(const event& e) noexcept {
    const std::uint32_t at = written_.load(std::memory_order_relaxed);
    event* const ring = this->ring();
    // The acquire pairs with drain.
    if (ring == nullptr || at - read_.load(std::memory_order_acquire) >= ring_events) {
        lost_.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    ring[at % ring_events] = e;
    written_.store(at + 1, std::memory_order_release);
}

void thread_log::set_current(const event& e) noexcept {
    const std::uint32_t before = sequence_.load(std::memory_order_relaxed);
    sequence_.store(before + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    const std::uint64_t what = std::uint64_t{static_cast<std::uint8_t>(e.now)} << 32 |
                               std::uint64_t{e.of.replayed} << 40 | e.of.name;
    current_[0].store(e.at, std::memory_order_relaxed);
    current_[1].store(e.of.token, std::memory_order_relaxed);
    current_[2].store(e.of.stream, std::memory_order_relaxed);
    current_[3].store(what, std::memory_order_relaxed);
    sequence_.store(before + 2, std::memory_order_release);
}

// Phase none, whose other parts mean nothing.
void thread_log::clear_current() noexcept {
    current_[3].store(0, std::memory_order_release);
}

bool thread_log::read_current(event& out) const noexcept {
    for (int tries = 0; tries < 1000; ++tries) {
        const std::uint32_t before = sequence_.load(std::memory_order_acquire);
        const std::uint64_t what = current_[3].load(std::memory_order_relaxed);
        out.at = current_[0].load(std::memory_order_relaxed);
        out.of.token = current_[1].load(std::memory_order_relaxed);
        out.of.stream = current_[2].load(std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_acquire);
        if (before % 2 != 0 || before != sequence_.load(std::memory_order_relaxed)) continue;
        out.of.name = static_cast<name_id>(what);
        out.of.replayed = (what >> 40 & 1) != 0;
        out.now = static_cast<phase>(what >> 32 & 0xff);
        return true;
    }
    return false;
}

}  // namespace hostlaunch::core::trace
