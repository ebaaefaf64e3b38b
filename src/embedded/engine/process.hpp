// SPDX-License-Identifier: Apache-2.0
// The driver's place in its process: initialised or not, forked, exiting.
#pragma once

#include <atomic>

#include "embedded/abi.hpp"

namespace hostlaunch::embedded {

// Why an entry point has to look twice; 0 on the fast path.
enum attention : unsigned {
    attention_not_initialized = 1,
    attention_forked = 2,   // this process is a child of one that had initialised the driver
    attention_exiting = 4,  // the exit handler of cuInit has run
    attention_sticky = 8,
    attention_knobs = 16,  // a log, a check, a hold or an armed failure is on
};

// Written with release, read with acquire at every entry.
extern std::atomic<unsigned> attention_bits;

inline void set_attention(attention bit, bool on) {
    if (on) {
        attention_bits.fetch_or(bit, std::memory_order_release);
    } else {
        attention_bits.fetch_and(~static_cast<unsigned>(bit), std::memory_order_release);
    }
}

inline bool in_forked_child() {
    return (attention_bits.load(std::memory_order_acquire) & attention_forked) != 0;
}

result initialize(unsigned flags);

}  // namespace hostlaunch::embedded
