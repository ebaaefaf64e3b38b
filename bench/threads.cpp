// SPDX-License-Identifier: Apache-2.0
// Throughput of several threads that launch at once, each on a stream of its own.
#include <barrier>
#include <hostlaunch/hostlaunch.hpp>
#include <string>
#include <thread>

#include "bare.h"
#include "figures.hpp"

namespace hostlaunch::bench {
namespace {

// Each thread launches its share and waits for it. Yields thousands of functions per second in all.
template <class Work>
measurement together(std::vector<stream>& streams, int functions, Work work) {
    const auto threads = static_cast<int>(streams.size());
    const int share = functions / threads;
    std::barrier start(threads + 1);
    std::vector<std::jthread> workers;
    for (stream& mine : streams) {
        workers.emplace_back([&start, &mine, share, work] {
            start.arrive_and_wait();
            work(mine, share);
        });
    }
    const std::int64_t begin = bare_now();
    start.arrive_and_wait();
    workers.clear();  // joins
    const auto spent = static_cast<double>(bare_now() - begin);
    return {static_cast<double>(share) * threads / spent * 1e6};
}

void launch_bare(stream& on, int functions) {
    require(bare_enqueue(on.handle(), functions, 1) < 0 ? 1 : 0, "the bare loop");
    require(bare_synchronize(on.handle()), "cuStreamSynchronize");
}

void launch_ours(stream& on, int functions) {
    std::size_t ran = 0;
    for (int i = 0; i < functions; ++i)
        host_launch(on, [&ran] { ++ran; });
    on.sync();
}

}  // namespace

void measure_threads(const settings& s, report& out) {
    for (const int threads : {1, 2, 4, 8}) {
        std::vector<stream> streams;
        for (int i = 0; i < threads; ++i)
            streams.emplace_back();
        const std::string of = std::to_string(threads) + (threads == 1 ? " thread" : " threads");
        std::vector<subject> subjects;
        subjects.push_back({of + ", from C", [&streams, &s] {
                                return together(streams, s.thread_functions, launch_bare);
                            }});
        subjects.push_back({of + ", host_launch of a lambda", [&streams, &s] {
                                return together(streams, s.thread_functions, launch_ours);
                            }});
        run_rounds(subjects, s.rounds, 2);
        out.add_group("throughput of " + of, "thousand functions per second", 0, subjects,
                      subjects[0].name, comparison::ratio);
    }
}

}  // namespace hostlaunch::bench
