// SPDX-License-Identifier: Apache-2.0
// What each step of a launch adds: the bare calls, and from line to line one more operation of the
// library's own. It uses the core's parts, so the library must be linked statically.
//
// As in launches.cpp the stream is blocked while a round enqueues, so that the records and their
// cache lines come from the driver's thread, and each launch gives its record back there.
#include <atomic>
#include <cstddef>
#include <hostlaunch/hostlaunch.hpp>
#include <new>

#include "bare.h"
#include "core/process/gate.hpp"
#include "core/process/monitor.hpp"
#include "core/process/use_count.hpp"
#include "core/task/outcomes.hpp"
#include "core/task/pool_of_records.hpp"
#include "figures.hpp"

namespace hostlaunch::bench {
namespace {

using core::record;
using core::record_pool;
using core::state;

// In the order of a launch; each level has all steps of those before it.
enum class upto { bare, take, fill, move, enter };

constexpr bool has(upto level, upto step) {
    return level >= step;
}

struct shared_words {
    alignas(64) std::atomic<std::uint64_t> counter{0};
    alignas(64) core::use_count guard;
};

void read_payload(record& r) {
    ++**std::launder(reinterpret_cast<std::size_t**>(r.payload));
}

// What the driver's thread does for each level.
void give_back(void* taken) {
    record_pool::instance().recycle(*static_cast<record*>(taken));
}
void read_and_give_back(void* taken) {
    read_payload(*static_cast<record*>(taken));
    give_back(taken);
}
void claim_and_finish(void* user_data) {
    record* r = record_pool::instance().claim(reinterpret_cast<core::token>(user_data));
    if (r == nullptr) return;
    read_payload(*r);
    core::finish_in_place(*r, core::outcome::ran);
}
void pass_the_gate(void* user_data) {
    if (!core::gate().enter()) return;
    claim_and_finish(user_data);
    core::gate().leave();
}

template <upto Level>
[[gnu::noinline]] int launch_with(CUstream_st* stream, shared_words& words, std::size_t* count) {
    if constexpr (Level == upto::bare) return bare_launch_checked(stream, &bare_nothing, nullptr);
    record& r = *record_pool::instance().acquire();
    std::uint64_t launching = 0;
    void* handed = &r;
    if constexpr (has(Level, upto::fill)) ::new (r.payload) std::size_t*(count);
    if constexpr (has(Level, upto::enter)) (void)words.guard.enter();
    if constexpr (has(Level, upto::fill)) {
        const std::uint64_t free_word = r.word.load(std::memory_order_relaxed);
        r.context.store(nullptr, std::memory_order_relaxed);
        r.launched_at.store(core::monitor::coarse_now(), std::memory_order_relaxed);
        launching = free_word | record::make_word(0, state::launching);
        r.word.store(launching, std::memory_order_release);
        if (has(Level, upto::move)) handed = reinterpret_cast<void*>(r.token_from(free_word));
    }
    constexpr bare_host_fn fn = Level == upto::take   ? &give_back
                                : Level == upto::fill ? &read_and_give_back
                                : Level == upto::move ? &claim_and_finish
                                                      : &pass_the_gate;
    const int code = bare_launch_checked(stream, fn, handed);
    if constexpr (has(Level, upto::move)) r.move_on(launching, state::pending);
    if constexpr (has(Level, upto::enter)) (void)words.guard.leave();
    return code;
}

template <class Call>
subject timed(const char* name, CUstream_st* stream, int calls, Call call) {
    return {name, [=] {
                require(bare_block(stream), "the gate");
                require(bare_stamp(stream, 0), "the first stamp");
                const std::int64_t begin = bare_now();
                for (int i = 0; i < calls; ++i)
                    require(call(), "a launch");
                const auto spent = static_cast<double>(bare_now() - begin);
                require(bare_stamp(stream, 1), "the second stamp");
                bare_open_gate();
                require(bare_drain(stream), "cuStreamSynchronize");
                return measurement{spent / calls, static_cast<double>(bare_stamped()) / calls};
            }};
}

}  // namespace

void measure_steps(const settings& s, report& out) {
    stream own;
    CUstream_st* handle = own.handle();
    shared_words words;
    std::size_t ran = 0;
    std::vector<subject> subjects;
    const auto add = [&](const char* name, auto call) {
        subjects.push_back(timed(name, handle, s.calls, call));
    };
    const auto level = [&]<upto Level> {
        return [=, &words, &ran] { return launch_with<Level>(handle, words, &ran); };
    };
    add("is_capturing + launch", level.operator()<upto::bare>());
    add("the same and one locked count", [=, &words] {
        words.counter.fetch_add(1);
        return bare_launch_checked(handle, &bare_nothing, nullptr);
    });
    add("take a record; give it back", level.operator()<upto::take>());
    add("+ fill it; read it", level.operator()<upto::fill>());
    add("+ move it to pending; claim, count", level.operator()<upto::move>());
    add("+ enter, leave the stream; the gate", level.operator()<upto::enter>());
    add("host_launch of a lambda", [&own, &ran] {
        host_launch(own, [&ran] { ++ran; });
        return 0;
    });
    run_rounds(subjects, s.short_rounds, s.warm_up);
    out.add_group("steps of a launch", "ns a call", 0, subjects, subjects[0].name);
    out.add_group("steps of a callback", "ns a callback", 1, subjects, subjects[0].name);
}

}  // namespace hostlaunch::bench
