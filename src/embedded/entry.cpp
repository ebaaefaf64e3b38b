// SPDX-License-Identifier: Apache-2.0
// What an entry point goes through before its body when anything is out of the ordinary.
#include "embedded/entry.hpp"

#include <cstring>

#include "embedded/driver.hpp"

namespace hostlaunch::embedded {

const entry_description entries[entry_count] = {
#define HOSTLAUNCH_EMBEDDED_ENTRY(symbol, base, version, traits, parameters) \
    {#symbol, #base, version, static_cast<unsigned>(traits), reinterpret_cast<void*>(&symbol)},
#include "embedded/entry_list.def"
#undef HOSTLAUNCH_EMBEDDED_ENTRY
};

std::array<std::atomic<std::uint64_t>, entry_count> call_counts{};

namespace {

const entry_description& describe(entry_id id) {
    return entries[static_cast<unsigned>(id)];
}

void check_caller(entry_id id) {
    knobs& k = the_knobs();
    auto* check = k.check.load(std::memory_order_acquire);
    if (check == nullptr || check() == 0) {
        return;
    }
    const std::lock_guard held(k.mutex);
    ++k.violations;
    if (k.first_violation == nullptr) {
        k.first_violation = describe(id).base;
    }
}

int append_to_log(knobs& k, entry_id id, const std::uint64_t* arguments, unsigned count) {
    constexpr int most = 65'536;
    const int index = k.logged++;
    if (index >= most) {
        return -1;
    }
    hostlaunch_embedded_call c{};
    c.entry = describe(id).base;
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

// The answer that the driver's state gives instead of the body, or `success`.
result refusal(unsigned traits, unsigned bits, admission& a) {
    if ((bits & attention_forked) != 0 && (traits & early) == 0) {
        a.admitted = false;
        return (traits & accepts_after_fork) != 0 ? success : error_not_initialized;
    }
    if ((bits & attention_not_initialized) != 0 && (traits & (early | starts)) == 0) {
        return error_not_initialized;
    }
    if ((bits & attention_exiting) != 0 && (traits & early) == 0) {
        return error_deinitialized;
    }
    if (inside_host_function() && (traits & in_host) == 0) {
        return error_not_permitted;
    }
    if ((bits & attention_sticky) != 0 && (traits & (own_errors | starts)) == 0) {
        a.reports_sticky = (traits & releases) != 0;
        return a.reports_sticky ? success : the_driver().sticky.load(std::memory_order_acquire);
    }
    return success;
}

}  // namespace

entry_id base_of(entry_id id) {
    unsigned i = 0;
    while (std::strcmp(entries[i].base, describe(id).base) != 0) {
        ++i;
    }
    return static_cast<entry_id>(i);
}

entry_id find_base(const char* name) {
    for (unsigned i = 0; name != nullptr && i < entry_count; ++i) {
        if (std::strcmp(entries[i].base, name) == 0 || std::strcmp(entries[i].symbol, name) == 0) {
            return base_of(static_cast<entry_id>(i));
        }
    }
    return entry_id::count;
}

admission admit(entry_id id, const std::uint64_t* arguments, unsigned count) {
    admission a;
    const unsigned bits = attention_bits.load(std::memory_order_acquire);
    if ((bits & attention_knobs) != 0) {
        check_caller(id);
        knobs& k = the_knobs();
        std::unique_lock held(k.mutex);
        entry_knobs& e = k.entries[static_cast<unsigned>(base_of(id))];
        if (k.logging) {
            a.log_index = append_to_log(k, id, arguments, count);
        }
        wait_while_held(held, k, e);
        if (take_failure(e, a.answer)) {
            a.admitted = false;
            return a;
        }
    }
    a.answer = refusal(describe(id).traits, attention_bits.load(std::memory_order_acquire), a);
    a.admitted = a.admitted && a.answer == success;
    return a;
}

result leave(const admission& a, result answer) {
    if (a.reports_sticky && answer == success) {
        answer = the_driver().sticky.load(std::memory_order_acquire);
    }
    if (a.log_index >= 0) {
        knobs& k = the_knobs();
        const std::lock_guard held(k.mutex);
        if (static_cast<std::size_t>(a.log_index) < k.log.size()) {
            k.log[static_cast<std::size_t>(a.log_index)].result = answer;
        }
    }
    return answer;
}

}  // namespace hostlaunch::embedded
