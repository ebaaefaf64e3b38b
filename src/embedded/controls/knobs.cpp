// SPDX-License-Identifier: Apache-2.0
// What the knobs at the door do to a call, and to a fork.
#include "embedded/controls/knobs.hpp"

#include <pthread.h>

#include <algorithm>

#include "embedded/controls/entry_names.hpp"
#include "embedded/engine/process.hpp"
#include "embedded/engine/thread.hpp"

namespace hostlaunch::embedded {

std::array<std::atomic<std::uint64_t>, entry_count> call_counts{};

namespace {

// Without this memory there is no driver: the process may end.
// NOLINTNEXTLINE(bugprone-throwing-static-initialization)
knobs* const instance = new knobs;

void before_fork() {
    instance->mutex.lock();
}

void after_fork_in_parent() {
    instance->mutex.unlock();
}

void after_fork_in_child() {
    end_all_holds();
    instance->mutex.unlock();
}

[[maybe_unused]] const int fork_handlers =
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);

void check_caller(entry_id id) {
    knobs& k = the_knobs();
    auto* check = k.check.load(std::memory_order_acquire);
    if (check == nullptr || check() == 0) {
        return;
    }
    const std::lock_guard held(k.mutex);
    ++k.violations;
    if (k.first_violation == nullptr) {
        k.first_violation = base_name_of(id);
    }
}

int append_to_log(knobs& k, entry_id id, const std::uint64_t* arguments, unsigned count) {
    constexpr int most = 65'536;
    const int index = k.logged++;
    if (index >= most) {
        return -1;
    }
    hostlaunch_embedded_call c{};
    c.entry = base_name_of(id);
    for (unsigned i = 0; i < count && i < 4; ++i) {
        c.args[i] = arguments[i];
    }
    c.thread = thread_id();
    c.result = -1;
    c.in_host_function = inside_host_function() ? 1 : 0;
    k.log.push_back(c);
    return index;
}

void wait_while_held(std::unique_lock<std::mutex>& held, knobs& k, entry_knobs& e) {
    if (!e.held) {
        return;
    }
    const std::uint64_t before = e.releases;
    ++e.blocked;
    k.changed.notify_all();
    while (e.releases == before) {
        k.changed.wait(held);
    }
    --e.blocked;
}

// Whether an armed failure is due, which it then sets `answer` to.
bool take_failure(entry_knobs& e, result& answer) {
    bool due = false;
    for (std::size_t i = 0; i < e.failures.size();) {
        const std::uint64_t whose = e.failures[i].thread;
        if ((whose != 0 && whose != thread_id()) || --e.failures[i].calls_left > 0) {
            ++i;
            continue;
        }
        answer = due ? answer : e.failures[i].outcome;
        due = true;
        e.failures.erase(e.failures.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (due) {
        refresh_attention();
    }
    return due;
}

}  // namespace

knobs& the_knobs() {
    return *instance;
}

knocked knock(entry_id id, const std::uint64_t* arguments, unsigned count) {
    check_caller(id);
    knobs& k = *instance;
    knocked seen;
    std::unique_lock held(k.mutex);
    entry_knobs& e = k.entries[static_cast<unsigned>(base_of(id))];
    if (k.logging) {
        seen.log_index = append_to_log(k, id, arguments, count);
    }
    wait_while_held(held, k, e);
    seen.fails = take_failure(e, seen.outcome);
    return seen;
}

void log_answer(int log_index, result answer) {
    knobs& k = *instance;
    const std::lock_guard held(k.mutex);
    if (static_cast<std::size_t>(log_index) < k.log.size()) {
        k.log[static_cast<std::size_t>(log_index)].result = answer;
    }
}

void end_all_holds() {
    for (entry_knobs& e : instance->entries) {
        e.held = false;
        ++e.releases;
    }
    instance->changed.notify_all();
    refresh_attention();
}

void refresh_attention() {
    const knobs& k = *instance;
    const bool on = k.logging || k.check.load(std::memory_order_relaxed) != nullptr ||
                    std::any_of(k.entries.begin(), k.entries.end(),
                                [](const entry_knobs& e) { return e.held || !e.failures.empty(); });
    set_attention(attention_knobs, on);
}

}  // namespace hostlaunch::embedded
