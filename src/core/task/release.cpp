// SPDX-License-Identifier: Apache-2.0
// The queue, who is asked to drain it, and what the monitor does for it.
#include "core/task/release.hpp"

#include "core/process/monitor.hpp"
#include "core/task/trace.hpp"

namespace hostlaunch::core {
namespace {

constinit record_stack queue;
// Set once. The acquire in request_release pairs with the store in set_release_hook: the hook finds
// what its language made ready before.
constinit std::atomic<bool (*)() noexcept> release_hook{nullptr};
constinit std::atomic<bool (*)() noexcept> hook_again{nullptr};
constinit std::atomic<bool> retry{false};

record* acquire(const task_type& type) noexcept {
    record* r = record_pool::instance().acquire();
    if (r != nullptr) r->type = &type;
    return r;
}

// Release pairs with the acquire of the exchange in drain, through the stack.
void push_as(record& r, state s) noexcept {
    r.word.store(record::make_word(r.generation(), s), std::memory_order_release);
    queue.push(r);
    request_release();
}

// What never ran has told nobody yet.
void tell_that_it_never_ran(record& r) noexcept {
    const state now = record::state_of(r.word.load(std::memory_order_relaxed));
    if (now == state::abandoned) r.type->completed(r.payload, outcome::abandoned);
    if (now == state::dropped) r.type->completed(r.payload, outcome::dropped);
}

// What is left of runs in graphs, and driver objects, are no launches.
void mark_release(const record& r) noexcept {
    const state now = record::state_of(r.word.load(std::memory_order_relaxed));
    if (now != state::spent && now != state::remains) trace::mark_release(r);
}

bool ask_again() noexcept {
    if (!retry.exchange(false)) return false;
    auto* again = hook_again.load();
    if (again == nullptr) {
        request_release();
    } else if (!again()) {
        retry.store(true);
    }
    return !retry.load();
}

bool wanted_in_background() noexcept {
    return !has_release_hook() && !queue.empty();
}

constinit monitor::duty release_duty{
    .look =
        []() noexcept {
            const bool released = release_in_background();
            return ask_again() || released;
        },
    .has_work = []() noexcept { return retry.load() || wanted_in_background(); },
    .last_look = []() noexcept { release_in_background(); },
};

}  // namespace

record_stack& to_release() noexcept {
    return queue;
}

record* acquire_left_behind(const task_type& type) noexcept {
    return acquire(type);
}
void push_left_behind(record& r) noexcept {
    push_as(r, state::spent);
}

record* acquire_remains(const task_type& type) noexcept {
    return acquire(type);
}
void push_remains(record& r) noexcept {
    push_as(r, state::remains);
}

void dispose(record& r) noexcept {
    if (r.type->completed != nullptr) tell_that_it_never_ran(r);
    if (trace::is_on()) mark_release(r);
    discard(r);
}

void discard(record& r) noexcept {
    if (r.type->destroy != nullptr) r.type->destroy(r.payload);
    record_pool::instance().recycle(r);
}

void set_release_hook(bool (*hook)() noexcept, bool (*again)() noexcept) noexcept {
    hook_again.store(again);
    release_hook.store(hook);
}

bool has_release_hook() noexcept {
    return release_hook.load() != nullptr;
}

void request_release() noexcept {
    auto* hook = release_hook.load(std::memory_order_acquire);
    if (hook != nullptr && hook()) return;
    if (hook != nullptr) retry.store(true);
    monitor::wake_if_asleep();
}

void request_release_later() noexcept {
    retry.store(true);
    monitor::wake_if_asleep();
}

bool release_in_background() noexcept {
    if (!wanted_in_background()) return false;
    queue.drain([](record& r) { dispose(r); });
    return true;
}

bool release_retry_wanted() noexcept {
    return retry.load();
}

void forget_releases() noexcept {
    queue.forget();
    retry.store(false);
}

void add_release_duty() noexcept {
    monitor::add(release_duty);
}

}  // namespace hostlaunch::core
