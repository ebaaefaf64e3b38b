// SPDX-License-Identifier: Apache-2.0
// Tables, JSON and the conditions of a run.
#include "report.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <hostlaunch/hostlaunch.hpp>
#include <iomanip>
#include <sstream>
#include <thread>

#include "bare.h"

#ifndef HOSTLAUNCH_BENCH_BUILD_TYPE
#define HOSTLAUNCH_BENCH_BUILD_TYPE "unknown"
#endif

namespace hostlaunch::bench {
namespace {

std::string processor() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        const auto colon = line.find(": ");
        if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
            return line.substr(colon + 2);
        }
    }
    return "unknown";
}

std::string date() {
    const std::time_t now = std::time(nullptr);
    char text[32] = "";
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
    return text;
}

std::string device() {
    char name[128] = "";
    return bare_device_name(name, sizeof name) == 0 ? name : "unknown";
}

std::string quoted(const std::string& text) {
    std::ostringstream out;
    out << '"';
    for (const char c : text) {
        if (c == '"' || c == '\\') out << '\\';
        out << (static_cast<unsigned char>(c) < ' ' ? ' ' : c);
    }
    out << '"';
    return out.str();
}

void write_interval(std::ostream& out, const samples& values) {
    const interval i = median_interval(values);
    out << '[' << i.low << ", " << i.high << ']';
}

void write_figure(std::ostream& out, const figure& f) {
    out << "    {\"group\": " << quoted(f.group) << ", \"name\": " << quoted(f.name)
        << ", \"unit\": " << quoted(f.unit) << ", \"rounds\": " << f.values.size()
        << ", \"status\": " << quoted(f.status);
    if (!f.values.empty()) {
        out << ",\n     \"median\": " << median(f.values) << ", \"interval\": ";
        write_interval(out, f.values);
    }
    if (f.how != comparison::none) {
        const char* how = f.how == comparison::ratio ? "ratio" : "difference";
        out << ",\n     \"baseline\": " << quoted(f.baseline) << ", \"" << how
            << "\": " << median(f.compared) << ", \"" << how << "_interval\": ";
        write_interval(out, f.compared);
    }
    out << ",\n     \"samples\": [";
    for (std::size_t i = 0; i < f.values.size(); ++i)
        out << (i == 0 ? "" : ", ") << f.values[i];
    out << "]}";
}

void print_figure(const figure& f) {
    if (f.values.empty()) {
        std::printf("  %-44s %s\n", f.name.c_str(), f.status.c_str());
        return;
    }
    const double value = median(f.values);
    const int digits = value != 0 && std::abs(value) < 100 ? 2 : 0;
    std::printf("  %-44s %10.*f", f.name.c_str(), digits, value);
    if (f.how != comparison::none) {
        const interval i = median_interval(f.compared);
        const int places = f.how == comparison::ratio ? 3 : 1;
        const char* form =
            f.how == comparison::ratio ? " %10.*f  [%.*f, %.*f]" : " %+10.*f  [%+.*f, %+.*f]";
        std::printf(form, places, median(f.compared), places, i.low, places, i.high);
    }
    std::printf("\n");
}

}  // namespace

void report::add_group(const std::string& group, const std::string& unit, std::size_t column,
                       const std::vector<subject>& subjects, const std::string& baseline,
                       comparison how) {
    const auto base = std::find_if(subjects.begin(), subjects.end(),
                                   [&](const subject& s) { return s.name == baseline; });
    for (const subject& s : subjects) {
        figure f{group, s.name, unit, s.columns[column]};
        if (base != subjects.end() && s.name != baseline) {
            const samples& from = base->columns[column];
            f.how = how;
            f.baseline = baseline;
            f.compared =
                how == comparison::ratio ? ratios(f.values, from) : differences(f.values, from);
        }
        add(std::move(f));
    }
}

void report::add_missing(const std::string& group, const std::string& name, const std::string& unit,
                         const std::string& status) {
    figure f{group, name, unit};
    f.status = status;
    // Beside the others of its group, if there are any.
    const auto last = std::find_if(figures_.rbegin(), figures_.rend(),
                                   [&](const figure& other) { return other.group == group; });
    figures_.insert(last.base(), std::move(f));
}

void report::print() const {
    const figure* former = nullptr;
    for (const figure& f : figures_) {
        if (former == nullptr || former->group != f.group) {
            const auto compared = std::find_if(figures_.begin(), figures_.end(), [&](auto& other) {
                return other.group == f.group && other.how != comparison::none;
            });
            std::printf("\n%s, %s", f.group.c_str(), f.unit.c_str());
            if (compared != figures_.end()) {
                const bool ratio = compared->how == comparison::ratio;
                const bool few = compared->compared.size() < least_for_interval;
                std::printf("; median, then %s \"%s\" with its %s",
                            ratio ? "the ratio to" : "paired difference to",
                            compared->baseline.c_str(),
                            few ? "least and greatest" : "95 % interval");
            }
            std::printf("\n");
        }
        print_figure(f);
        former = &f;
    }
}

bool report::write_json(const settings& s) const {
    std::ofstream out(s.json);
    out << std::setprecision(7) << "{\n  \"program\": \"hostlaunch_bench\",\n  \"conditions\": {";
    const char* separator = "\n";
    for (const auto& [name, value] : conditions(s)) {
        out << separator << "    " << quoted(name) << ": " << quoted(value);
        separator = ",\n";
    }
    out << "\n  },\n  \"figures\": [";
    separator = "\n";
    for (const figure& f : figures_) {
        out << separator;
        write_figure(out, f);
        separator = ",\n";
    }
    out << "\n  ]\n}\n";
    return static_cast<bool>(out.flush());
}

std::vector<std::pair<std::string, std::string>> conditions(const settings& s) {
    const driver_info used = driver();
    return {
        {"driver", used.name},
        {"driver version", std::to_string(used.version)},
        {"device", device()},
        {"processor", processor()},
        {"cores", std::to_string(std::thread::hardware_concurrency())},
        {"compiler", "g++ " __VERSION__},
        {"build type", HOSTLAUNCH_BENCH_BUILD_TYPE},
        {"commit", s.commit},
        {"date", date()},
        {"rounds", std::to_string(s.rounds)},
        {"short rounds", std::to_string(s.short_rounds)},
        {"calls a round", std::to_string(s.calls)},
    };
}

}  // namespace hostlaunch::bench
