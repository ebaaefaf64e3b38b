// SPDX-License-Identifier: Apache-2.0
// Waits on values in memory: the words are looked at by one thread, started by the first wait.
#include "embedded/engine/poller.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <type_traits>

#include "embedded/engine/driver.hpp"
#include "embedded/engine/queues.hpp"
#include "embedded/engine/thread.hpp"

namespace hostlaunch::embedded {

namespace {

using std::chrono::microseconds;

// CU_STREAM_WAIT_VALUE_*; the flush bit changes nothing here.
enum : unsigned { at_least = 0, equal = 1, any_bit = 2, not_or = 3, condition_bits = 3 };

template <class Word>
bool fulfils(Word seen, Word wanted, unsigned flags) {
    switch (flags & condition_bits) {
        case at_least:  // cyclic
            return static_cast<std::make_signed_t<Word>>(static_cast<Word>(seen - wanted)) >= 0;
        case equal:
            return seen == wanted;
        case any_bit:
            return (seen & wanted) != 0;
        default:
            return static_cast<Word>(~(seen | wanted)) != 0;
    }
}

template <class Word>
bool is_reached(const work::value_work& w) {
    // Pairs with the release store of whoever writes the word.
    const Word seen =
        std::atomic_ref(*static_cast<Word*>(w.address)).load(std::memory_order_acquire);
    return fulfils(seen, static_cast<Word>(w.value), w.flags);
}

bool poll(driver& d) {
    bool found = false;
    for (stream_state* s = d.polling; s != nullptr; s = s->next_polling) {
        if (value_is_reached(s->head->what.value)) {
            schedule(*s);
            found = true;
        }
    }
    return found;
}

void* poller_thread(void*) {
    pthread_setname_np(pthread_self(), "hostlaunch-poll");
    constexpr microseconds shortest{20};
    constexpr microseconds longest{200};
    driver& d = the_driver();
    lock held(d.mutex);
    microseconds pause = shortest;
    for (;;) {
        if (d.polling == nullptr) {
            d.poller_wakes.wait(held);
            pause = shortest;
        } else if (poll(d)) {
            drain(held);
            pause = shortest;
        } else {
            d.poller_wakes.wait_for(held, pause);
            pause = std::min(pause * 2, longest);
        }
    }
}

}  // namespace

bool is_value(const value_params& params) {
    switch (params.operation) {
        case value_operation::wait_32:
        case value_operation::wait_64:
        case value_operation::write_32:
        case value_operation::write_64:
            return true;
        default:
            return false;
    }
}

work value_of(const value_params& params) {
    const bool waits = params.operation == value_operation::wait_32 ||
                       params.operation == value_operation::wait_64;
    const bool narrow = params.operation == value_operation::wait_32 ||
                        params.operation == value_operation::write_32;
    work w{};
    w.kind = waits ? work_kind::wait_value : work_kind::write_value;
    w.value = {reinterpret_cast<void*>(static_cast<std::uintptr_t>(params.address)), params.value,
               params.flags, narrow ? 4u : 8u};
    return w;
}

bool value_is_reached(const work::value_work& w) {
    return w.width == 4 ? is_reached<std::uint32_t>(w) : is_reached<std::uint64_t>(w);
}

void store_value(const work::value_work& w) {
    if (w.width == 4) {
        std::atomic_ref(*static_cast<std::uint32_t*>(w.address))
            .store(static_cast<std::uint32_t>(w.value), std::memory_order_release);
    } else {
        std::atomic_ref(*static_cast<std::uint64_t*>(w.address))
            .store(w.value, std::memory_order_release);
    }
}

bool ensure_poller() {
    driver& d = the_driver();
    d.poller_started = d.poller_started || start_thread(poller_thread, nullptr, 0);
    return d.poller_started;
}

void start_polling(stream_state& s) {
    if (s.polling) {
        return;
    }
    driver& d = the_driver();
    s.polling = true;
    s.next_polling = d.polling;
    d.polling = &s;
    d.poller_wakes.notify_one();
}

void stop_polling(stream_state& s) {
    if (!s.polling) {
        return;
    }
    stream_state** place = &the_driver().polling;
    while (*place != &s) {
        place = &(*place)->next_polling;
    }
    *place = s.next_polling;
    s.polling = false;
}

}  // namespace hostlaunch::embedded
