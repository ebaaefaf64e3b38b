// SPDX-License-Identifier: Apache-2.0
// Kernels and host functions in turns, on the GPU's own clock.
#include <cstddef>
#include <hostlaunch/hostlaunch.hpp>
#include <span>

#include "bare.h"
#include "by_hand.hpp"
#include "cccl.hpp"
#include "figures.hpp"
#include "timeline.h"

namespace hostlaunch::bench {
namespace {

constexpr int pairs = 32;  // some 56 fill the driver's queue behind the gate
constexpr const char* baseline = "kernel + C function, from C";

// All is enqueued behind the gate, so that the time to enqueue does not count. Yields microseconds
// a pair.
template <class Call>
std::function<measurement()> in_turns(CUstream_st* stream, Call call) {
    return [stream, call]() -> measurement {
        require(bare_block(stream), "the gate");
        require(bare_mark(stream, 0), "the first event");
        for (int i = 0; i < pairs; ++i) {
            require(bare_kernel(stream), "a kernel");
            call();
        }
        require(bare_kernel(stream), "the last kernel");
        require(bare_mark(stream, 1), "the second event");
        bare_open_gate();
        require(bare_synchronize(stream), "cuStreamSynchronize");
        return {bare_marked() / pairs};
    };
}

}  // namespace

void measure_timeline(const settings& s, report& out) {
    stream own;
    CUstream_st* handle = own.handle();
    CUstream_st* unused = nullptr;
    require(bare_open(&unused), "making the context current");
    require(bare_load_kernel(handle), "loading the kernel");
    std::size_t ran = 0;
    std::byte data[64] = {};
    const auto count = [&ran] { ++ran; };

    std::vector<subject> subjects;
    const auto add = [&](const char* name, auto call) {
        subjects.push_back({name, in_turns(handle, call)});
    };
    add(baseline, [handle] { require(bare_launch(handle, &bare_nothing, nullptr), "a launch"); });
    add("host_launch of a lambda", [&own, count] { host_launch(own, count); });
    add("host_launch as is, pointer",
        [&own, &data] { host_launch(own, &bare_nothing, static_cast<void*>(data)); });
    add("host_launch as is, 64 bytes copied",
        [&own, &data] { host_launch(own, &bare_nothing, std::span<const std::byte>(data)); });
    add("new + trampoline + delete, by hand", [=] { launch_by_hand(handle, count); });
    if (cccl_status() == nullptr) {
        add(cccl_name, [handle, &ran] { launch_with_cccl(handle, &ran); });
    }
    const char* group = "GPU timeline, kernel + host function";
    run_rounds(subjects, 2 * s.short_rounds, s.warm_up);
    out.add_group(group, "us a pair", 0, subjects, baseline);
    if (const char* status = cccl_status()) {
        out.add_missing(group, cccl_name, "us a pair", status);
    }
}

}  // namespace hostlaunch::bench
