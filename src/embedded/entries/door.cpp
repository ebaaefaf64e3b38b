// SPDX-License-Identifier: Apache-2.0
// What an entry point goes through before its body when anything is out of the ordinary.
#include "embedded/entries/door.hpp"

#include "embedded/engine/driver.hpp"
#include "embedded/engine/process.hpp"
#include "embedded/engine/thread.hpp"

namespace hostlaunch::embedded {

namespace {

constexpr unsigned traits_of[entry_count] = {
#define HOSTLAUNCH_EMBEDDED_ENTRY(symbol, base, version, traits, parameters, arguments) \
    static_cast<unsigned>(traits),
#include "embedded/entry_list.def"
#undef HOSTLAUNCH_EMBEDDED_ENTRY
};

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

admission admit(entry_id id, const std::uint64_t* arguments, unsigned count) {
    admission a;
    const unsigned bits = attention_bits.load(std::memory_order_acquire);
    if ((bits & attention_knobs) != 0) {
        const knocked seen = knock(id, arguments, count);
        a.log_index = seen.log_index;
        if (seen.fails) {
            a.admitted = false;
            a.answer = seen.outcome;
            return a;
        }
    }
    // Read again: a call that was held may find the driver in another state.
    const unsigned now = attention_bits.load(std::memory_order_acquire);
    a.answer = refusal(traits_of[static_cast<unsigned>(id)], now, a);
    a.admitted = a.admitted && a.answer == success;
    return a;
}

result leave(const admission& a, result answer) {
    if (a.reports_sticky && answer == success) {
        answer = the_driver().sticky.load(std::memory_order_acquire);
    }
    if (a.log_index >= 0) {
        log_answer(a.log_index, answer);
    }
    return answer;
}

}  // namespace hostlaunch::embedded
