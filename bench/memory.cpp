// SPDX-License-Identifier: Apache-2.0
// Memory: allocations per launch, bytes per pending launch, growth over a million launches.
//
// Each number is taken in a process of its own, started from this program, since memory that a
// process once had hides what the next measurement would take.
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <hostlaunch/hostlaunch.hpp>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "bare.h"
#include "counting.hpp"
#include "figures.hpp"

namespace hostlaunch::bench {
namespace {

constexpr int pending_launches = 100000;

double resident_bytes() {
    std::ifstream file("/proc/self/statm");
    double size = 0;
    double resident = 0;
    file >> size >> resident;
    return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

void launch(stream& on, int calls, bool ours) {
    if (!ours) {
        require(bare_enqueue(on.handle(), calls, 1) < 0 ? 1 : 0, "the bare loop");
        return;
    }
    static std::size_t ran = 0;
    for (int i = 0; i < calls; ++i)
        host_launch(on, [] { ++ran; });
}

double growth(const settings& s, bool ours) {
    stream on;
    const auto run = [&](int launches) {
        for (int done = 0; done < launches; done += s.outstanding) {
            launch(on, s.outstanding, ours);
            require(bare_synchronize(on.handle()), "cuStreamSynchronize");
        }
    };
    run(10 * s.outstanding);
    const double before = resident_bytes();
    run(s.growth_launches);
    return resident_bytes() - before;
}

// How much grows when many launches are pending at once: resident memory, or what our own operator
// new gave out.
double per_pending(bool ours, bool resident) {
    stream on;
    launch(on, 1, ours);
    require(bare_synchronize(on.handle()), "cuStreamSynchronize");
    require(bare_block(on.handle()), "the gate");
    const auto now = [resident] {
        return resident ? resident_bytes() : static_cast<double>(count_allocations().bytes_held);
    };
    const double before = now();
    launch(on, pending_launches, ours);
    const double grown = now() - before;
    bare_open_gate();
    require(bare_synchronize(on.handle()), "cuStreamSynchronize");
    return grown / pending_launches;
}

double allocations_per_launch(bool needs_destruction) {
    constexpr int batch = 500;
    constexpr int batches = 20;
    stream on;
    const auto shared = std::make_shared<std::size_t>(0);
    const auto run = [&] {
        for (int i = 0; i < batch; ++i) {
            if (needs_destruction) {
                host_launch(on, [shared] { ++*shared; });
            } else {
                host_launch(on, [count = shared.get()] { ++*count; });
            }
        }
        on.sync();
        while (stats().awaiting_release != 0)
            std::this_thread::yield();
    };
    for (int i = 0; i < 3; ++i)
        run();
    const std::uint64_t before = count_allocations().calls;
    for (int i = 0; i < batches; ++i)
        run();
    return static_cast<double>(count_allocations().calls - before) / (batch * batches);
}

double child_value(const std::string& what, const settings& s) {
    char self[4096] = "";
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) throw std::runtime_error("readlink");
    std::ostringstream command;
    command << '\'' << self << "' --child " << what << " --launches " << s.growth_launches;
    FILE* pipe = popen(command.str().c_str(), "r");
    double value = 0;
    const bool read = pipe != nullptr && std::fscanf(pipe, "%lf", &value) == 1;
    if (pipe == nullptr || pclose(pipe) != 0 || !read) {
        throw std::runtime_error("the process for " + what + " failed");
    }
    return value;
}

}  // namespace

int run_memory_child(const std::string& what, const settings& s) {
    double value = 0;
    if (what == "growth-ours" || what == "growth-bare") {
        value = growth(s, what == "growth-ours");
    } else if (what == "pending-heap") {
        value = per_pending(true, false);
    } else if (what == "pending-ours" || what == "pending-bare") {
        value = per_pending(what == "pending-ours", true);
    } else if (what == "allocations" || what == "allocations-destroyed") {
        value = allocations_per_launch(what == "allocations-destroyed");
    } else {
        std::fprintf(stderr, "there is no measurement %s\n", what.c_str());
        return 2;
    }
    std::printf("%.3f\n", value);
    return 0;
}

void measure_memory(const settings& s, report& out) {
    const auto add = [&](const char* group, const char* name, const char* unit, samples values) {
        out.add({group, name, unit, std::move(values)});
    };
    const char* heap = "our heap, steady state";
    add(heap, "lambda", "allocations per launch", {child_value("allocations", s)});
    add(heap, "lambda with a shared_ptr", "allocations per launch",
        {child_value("allocations-destroyed", s)});
    const char* pending = "memory per pending launch, 100,000 pending";
    add(pending, "what our operator new holds", "bytes", {child_value("pending-heap", s)});
    samples bare_pending;
    samples our_pending;
    samples bare_growth;
    samples our_growth;
    for (int i = 0; i < s.growth_pairs; ++i) {
        bare_pending.push_back(child_value("pending-bare", s));
        our_pending.push_back(child_value("pending-ours", s));
        bare_growth.push_back(child_value("growth-bare", s) / 1024);
        our_growth.push_back(child_value("growth-ours", s) / 1024);
    }
    const std::string long_run = "growth over " + std::to_string(s.growth_launches) +
                                 " launches, at most " + std::to_string(s.outstanding) +
                                 " outstanding";
    add(pending, "resident, from C (the driver's own)", "bytes", bare_pending);
    out.add({pending, "resident, host_launch of a lambda", "bytes", our_pending,
             "resident, from C (the driver's own)", differences(our_pending, bare_pending),
             comparison::difference});
    add(long_run.c_str(), "from C (the driver's own)", "KiB resident", bare_growth);
    out.add({long_run, "host_launch of a lambda", "KiB resident", our_growth,
             "from C (the driver's own)", differences(our_growth, bare_growth),
             comparison::difference});
}

}  // namespace hostlaunch::bench
