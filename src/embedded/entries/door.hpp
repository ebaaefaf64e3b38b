// SPDX-License-Identifier: Apache-2.0
// The one door: every exported entry point runs its body through `enter`.
//
// The fast path is a counter, one load and one thread-local flag. Everything else (not initialised,
// forked, exiting, sticky, inside a host function, knobs) goes through `admit`.
#pragma once

#include <cstdint>
#include <new>
#include <type_traits>

#include "embedded/controls/knobs.hpp"
#include "embedded/engine/process.hpp"
#include "embedded/engine/thread.hpp"
#include "embedded/entry_points.hpp"

namespace hostlaunch::embedded {

enum entry_traits : unsigned {
    none = 0,
    early = 1,                // works before cuInit, after exit began and in a forked child
    own_errors = 2,           // finds out about a sticky error itself, or never reports one
    releases = 4,             // does its work in spite of a sticky error, then reports it
    in_host = 8,              // works inside a host function or a destructor
    accepts_after_fork = 16,  // returns SUCCESS in a forked child, and does nothing
    starts = 32,              // works before cuInit
};

// A call that `admit` let through; `leave` completes its line in the log.
struct admission {
    bool admitted = true;
    bool reports_sticky = false;
    result answer = success;  // if not admitted
    int log_index = -1;
};

// May block (holds) and calls the entry check. Holds no lock when it returns.
admission admit(entry_id id, const std::uint64_t* arguments, unsigned count);
result leave(const admission& a, result answer);

template <class T>
std::uint64_t argument_bits(T value) {
    if constexpr (std::is_pointer_v<T>) {
        return reinterpret_cast<std::uintptr_t>(value);
    } else if constexpr (std::is_class_v<T>) {
        return 0;
    } else {
        return static_cast<std::uint64_t>(value);
    }
}

// No exception but forced unwinding crosses the C boundary.
template <class Body>
result guarded(const Body& body) {
    try {
        return body();
    } catch (const std::bad_alloc&) {
        return error_out_of_memory;
    }
}

template <entry_id id, auto body, class... Arguments>
result enter(Arguments... arguments) {
    const auto call = [&] { return body(arguments...); };
    call_counts[static_cast<unsigned>(id)].fetch_add(1, std::memory_order_relaxed);
    if (attention_bits.load(std::memory_order_acquire) == 0 && !inside_host_function()) [[likely]] {
        return guarded(call);
    }
    const std::uint64_t bits[sizeof...(arguments) + 1] = {argument_bits(arguments)..., 0};
    const auto slow = [&] {
        const admission a = admit(id, bits, sizeof...(arguments));
        return leave(a, a.admitted ? guarded(call) : a.answer);
    };
    return guarded(slow);
}

}  // namespace hostlaunch::embedded
