// SPDX-License-Identifier: Apache-2.0
// What a launch costs its caller, and its callback the driver's thread.
#include <cstddef>
#include <hostlaunch/hostlaunch.hpp>
#include <memory>
#include <span>

#include "bare.h"
#include "by_hand.hpp"
#include "cccl.hpp"
#include "figures.hpp"

namespace hostlaunch::bench {
namespace {

constexpr const char* baseline = "is_capturing + launch, from C";

// One round of one subject: the queue is blocked, `enqueue` launches all calls and returns the
// nanoseconds that it took, then the gate opens. C functions before and after read the clock on the
// driver's thread. Yields {enqueue, drain} in nanoseconds per call.
template <class Enqueue>
measurement blocked_round(CUstream_st* stream, int calls, Enqueue&& enqueue) {
    require(bare_block(stream), "the gate");
    require(bare_stamp(stream, 0), "the first stamp");
    const auto spent = static_cast<double>(enqueue());
    require(bare_stamp(stream, 1), "the second stamp");
    bare_open_gate();
    require(bare_drain(stream), "cuStreamSynchronize");
    return {spent / calls, static_cast<double>(bare_stamped()) / calls};
}

template <class Call>
std::function<measurement()> timed(CUstream_st* stream, int calls, Call call) {
    return [stream, calls, call]() mutable {
        return blocked_round(stream, calls, [&] {
            const std::int64_t begin = bare_now();
            for (int i = 0; i < calls; ++i)
                call();
            return bare_now() - begin;
        });
    };
}

std::function<measurement()> timed_bare(CUstream_st* stream, int calls, bool checked) {
    return [=] {
        return blocked_round(stream, calls, [=] {
            const std::int64_t spent = bare_enqueue(stream, calls, checked ? 1 : 0);
            require(spent < 0 ? 1 : 0, "the bare loop");
            return spent;
        });
    };
}

}  // namespace

void measure_launches(const settings& s, report& out) {
    stream own;
    CUstream_st* handle = own.handle();
    std::size_t ran = 0;
    const auto shared = std::make_shared<std::size_t>(0);
    std::byte data[64] = {};
    const auto count = [&ran] { ++ran; };
    auto borrowed = count;

    std::vector<subject> subjects;
    const auto add = [&](const char* name, auto call) {
        subjects.push_back({name, timed(handle, s.calls, call)});
    };
    subjects.push_back({"launch alone, from C", timed_bare(handle, s.calls, false)});
    subjects.push_back({baseline, timed_bare(handle, s.calls, true)});
    add("host_launch of a lambda, own stream", [&own, count] { host_launch(own, count); });
    add("host_launch of a lambda, foreign handle", [=] { host_launch(handle, count); });
    add("host_launch of a lambda with a shared_ptr",
        [&own, shared] { host_launch(own, [shared] { ++*shared; }); });
    add("host_launch of a borrowed callable",
        [&own, &borrowed] { host_launch(own, std::ref(borrowed)); });
    add("host_launch as is, pointer",
        [&own, &data] { host_launch(own, &bare_nothing, static_cast<void*>(data)); });
    add("host_launch as is, 64 bytes copied",
        [&own, &data] { host_launch(own, &bare_nothing, std::span<const std::byte>(data)); });
    add("new + trampoline + delete, by hand", [=] { launch_by_hand(handle, count); });
    add("the same, with the capture check",
        [=] { launch_by_hand(handle, count, bare_launch_checked); });
    add("cuStreamAddCallback + owned callable", [=] { add_callback(handle, count); });
    if (cccl_status() == nullptr) {
        add(cccl_name, [handle, &ran] { launch_with_cccl(handle, &ran); });
    }

    run_rounds(subjects, s.short_rounds, s.warm_up);
    out.add_group("enqueue", "ns a call", 0, subjects, baseline);
    out.add_group("drain", "ns a callback", 1, subjects, baseline);
    if (const char* status = cccl_status()) {
        out.add_missing("enqueue", cccl_name, "ns a call", status);
        out.add_missing("drain", cccl_name, "ns a callback", status);
    }
}

void measure_round_trips(const settings& s, report& out) {
    constexpr int trips = 100;
    stream own;
    CUstream_st* handle = own.handle();
    std::size_t ran = 0;
    const auto bare_trips = [handle]() -> measurement {
        samples each(trips);
        std::int64_t spent[trips];
        require(bare_round_trips(handle, trips, spent), "the bare round trips");
        std::copy(std::begin(spent), std::end(spent), each.begin());
        return {median(each) / 1000};
    };
    const auto our_trips = [&]() -> measurement {
        samples each;
        for (int i = 0; i < trips; ++i) {
            const std::int64_t begin = bare_now();
            host_launch(own, [&ran] { ++ran; });
            own.sync();
            each.push_back(static_cast<double>(bare_now() - begin));
        }
        return {median(each) / 1000};
    };
    std::vector<subject> subjects;
    subjects.push_back({"launch + sync, from C", bare_trips});
    subjects.push_back({"host_launch of a lambda + stream::sync", our_trips});
    run_rounds(subjects, s.short_rounds, s.warm_up);
    out.add_group("round trip", "us (median of 100 a round)", 0, subjects, subjects[0].name);
}

}  // namespace hostlaunch::bench
