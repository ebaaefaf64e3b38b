// SPDX-License-Identifier: Apache-2.0
// The knobs of control.hpp that act at the door: failures, holds, the log, the entry check.
#include <chrono>

#include "embedded/control.hpp"
#include "embedded/controls/engine_control.hpp"
#include "embedded/controls/entry_names.hpp"
#include "embedded/controls/knobs.hpp"
#include "embedded/engine/thread.hpp"

namespace hostlaunch::embedded {

namespace {

entry_knobs* find_knobs(const char* entry) {
    const entry_id base = find_base(entry);
    return base == entry_id::count ? nullptr : &the_knobs().entries[static_cast<unsigned>(base)];
}

int arm(const char* entry, const armed_failure& failure) {
    entry_knobs* e = find_knobs(entry);
    if (e == nullptr || failure.calls_left < 1) {
        return 1;
    }
    const std::lock_guard held(the_knobs().mutex);
    e->failures.push_back(failure);
    refresh_attention();
    return 0;
}

}  // namespace

}  // namespace hostlaunch::embedded

namespace embedded = hostlaunch::embedded;

extern "C" {

HOSTLAUNCH_EMBEDDED_EXPORT void hostlaunch_embedded_reset(void) {
    embedded::reset_engine_knobs();
    embedded::knobs& k = embedded::the_knobs();
    const std::lock_guard held(k.mutex);
    k.check.store(nullptr, std::memory_order_release);
    k.violations = 0;
    k.first_violation = nullptr;
    k.logging = false;
    k.log.clear();
    k.logged = 0;
    for (embedded::entry_knobs& e : k.entries) {
        e.failures.clear();
    }
    embedded::end_all_holds();
}

HOSTLAUNCH_EMBEDDED_EXPORT int hostlaunch_embedded_fail_call(const char* entry, int nth,
                                                             int result) {
    return embedded::arm(entry, {nth, result, 0});
}

HOSTLAUNCH_EMBEDDED_EXPORT int hostlaunch_embedded_fail_own_call(const char* entry, int nth,
                                                                 int result) {
    return embedded::arm(entry, {nth, result, embedded::thread_id()});
}

HOSTLAUNCH_EMBEDDED_EXPORT int hostlaunch_embedded_hold(const char* entry) {
    embedded::entry_knobs* e = embedded::find_knobs(entry);
    if (e == nullptr) {
        return 1;
    }
    const std::lock_guard held(embedded::the_knobs().mutex);
    e->held = true;
    embedded::refresh_attention();
    return 0;
}

HOSTLAUNCH_EMBEDDED_EXPORT void hostlaunch_embedded_release(const char* entry) {
    if (embedded::entry_knobs* e = embedded::find_knobs(entry); e != nullptr) {
        const std::lock_guard held(embedded::the_knobs().mutex);
        e->held = false;
        ++e->releases;
        embedded::the_knobs().changed.notify_all();
        embedded::refresh_attention();
    }
}

HOSTLAUNCH_EMBEDDED_EXPORT int hostlaunch_embedded_wait_held(const char* entry, int n,
                                                             int timeout_ms) {
    embedded::entry_knobs* e = embedded::find_knobs(entry);
    if (e == nullptr) {
        return 0;
    }
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
    embedded::knobs& k = embedded::the_knobs();
    std::unique_lock held(k.mutex);
    k.changed.wait_until(held, deadline, [&] { return e->blocked >= n; });
    return e->blocked;
}

HOSTLAUNCH_EMBEDDED_EXPORT void hostlaunch_embedded_set_log(int on) {
    embedded::knobs& k = embedded::the_knobs();
    const std::lock_guard held(k.mutex);
    k.logging = on != 0;
    embedded::refresh_attention();
}

HOSTLAUNCH_EMBEDDED_EXPORT int hostlaunch_embedded_log_size(void) {
    const std::lock_guard held(embedded::the_knobs().mutex);
    return embedded::the_knobs().logged;
}

HOSTLAUNCH_EMBEDDED_EXPORT int hostlaunch_embedded_log_get(int index,
                                                           hostlaunch_embedded_call* out) {
    embedded::knobs& k = embedded::the_knobs();
    const std::lock_guard held(k.mutex);
    if (out == nullptr || index < 0 || static_cast<std::size_t>(index) >= k.log.size()) {
        return 1;
    }
    *out = k.log[static_cast<std::size_t>(index)];
    return 0;
}

HOSTLAUNCH_EMBEDDED_EXPORT std::uint64_t hostlaunch_embedded_calls(const char* entry) {
    const embedded::entry_id base = embedded::find_base(entry);
    std::uint64_t calls = 0;
    for (unsigned i = 0; i < embedded::entry_count; ++i) {
        if (embedded::base_of(static_cast<embedded::entry_id>(i)) == base) {
            calls += embedded::call_counts[i].load(std::memory_order_relaxed);
        }
    }
    return calls;
}

HOSTLAUNCH_EMBEDDED_EXPORT void hostlaunch_embedded_set_entry_check(int (*check)(void)) {
    embedded::knobs& k = embedded::the_knobs();
    const std::lock_guard held(k.mutex);
    k.check.store(check, std::memory_order_release);
    embedded::refresh_attention();
}

HOSTLAUNCH_EMBEDDED_EXPORT int hostlaunch_embedded_violations(void) {
    const std::lock_guard held(embedded::the_knobs().mutex);
    return embedded::the_knobs().violations;
}

HOSTLAUNCH_EMBEDDED_EXPORT const char* hostlaunch_embedded_first_violation(void) {
    const std::lock_guard held(embedded::the_knobs().mutex);
    return embedded::the_knobs().first_violation;
}

}  // extern "C"
