// SPDX-License-Identifier: Apache-2.0
// hostlaunch_bench: what the C++ library costs beside the bare driver, in one run.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <hostlaunch/hostlaunch.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

#include "bare.h"
#include "figures.hpp"

namespace hostlaunch::bench {

void require(int result, const char* call) {
    if (result != 0) {
        throw std::runtime_error(std::string(call) + " failed with " + std::to_string(result));
    }
}

namespace {

constexpr const char* usage =
    R"(usage: hostlaunch_bench [--quick] [--rounds N] [--only GROUP] [--json FILE] [--commit ID]

Measures what host_launch costs beside the bare driver calls. HOSTLAUNCH_DRIVER chooses the driver.
  --quick        fewer rounds, and 200,000 launches in the long memory run
  --rounds N     interleaved rounds of each group (60; 30 at least for figures to keep);
                 five times as many where a round takes a millisecond
  --only GROUP   launches, steps, timeline, round-trips, threads or memory
  --json FILE    also write all samples with their conditions
  --commit ID    recorded among the conditions
)";

struct command_line {
    settings wanted;
    std::string only;
    std::string child;
};

int whole(const char* text) {
    const int value = std::atoi(text);
    if (value < 1) throw std::invalid_argument(std::string("not a positive number: ") + text);
    return value;
}

void be_quick(settings& s) {
    s.rounds = 30;
    s.short_rounds = 60;
    s.warm_up = 2;
    s.growth_launches = 200000;
    s.growth_pairs = 1;
    s.thread_functions = 4000;
}

command_line parse(int argc, char** argv) {
    command_line line;
    for (int i = 1; i < argc; ++i) {
        const std::string_view option = argv[i];
        if (option == "--quick") {
            be_quick(line.wanted);
            continue;
        }
        if (i + 1 == argc) throw std::invalid_argument("incomplete: " + std::string(option));
        const char* value = argv[++i];
        if (option == "--rounds") {
            line.wanted.rounds = whole(value);
            line.wanted.short_rounds = 5 * line.wanted.rounds;
        } else if (option == "--launches") {
            line.wanted.growth_launches = whole(value);
        } else if (option == "--only") {
            line.only = value;
        } else if (option == "--json") {
            line.wanted.json = value;
        } else if (option == "--commit") {
            line.wanted.commit = value;
        } else if (option == "--child") {
            line.child = value;
        } else {
            throw std::invalid_argument("unknown: " + std::string(option));
        }
    }
    return line;
}

int run(const command_line& line) {
    require(bare_load(driver().path.c_str()), "loading the driver a second time");
    if (!line.child.empty()) return run_memory_child(line.child, line.wanted);
    for (const auto& [name, value] : conditions(line.wanted)) {
        std::printf("%s: %s\n", name.c_str(), value.c_str());
    }
    report out;
    const auto chosen = [&](const char* name) { return line.only.empty() || line.only == name; };
    if (chosen("launches")) measure_launches(line.wanted, out);
#ifdef HOSTLAUNCH_BENCH_STEPS
    if (chosen("steps")) measure_steps(line.wanted, out);
#endif
    if (chosen("timeline")) measure_timeline(line.wanted, out);
    if (chosen("round-trips")) measure_round_trips(line.wanted, out);
    if (chosen("threads")) measure_threads(line.wanted, out);
    if (chosen("memory")) measure_memory(line.wanted, out);
    out.print();
    if (line.wanted.json.empty() || out.write_json(line.wanted)) return 0;
    std::fprintf(stderr, "cannot write %s\n", line.wanted.json.c_str());
    return 1;
}

}  // namespace
}  // namespace hostlaunch::bench

int main(int argc, char** argv) {
    try {
        return hostlaunch::bench::run(hostlaunch::bench::parse(argc, argv));
    } catch (const std::invalid_argument& e) {
        std::fprintf(stderr, "%s\n%s", e.what(), hostlaunch::bench::usage);
        return 2;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
