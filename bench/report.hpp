// SPDX-License-Identifier: Apache-2.0
// What was measured under which conditions: a table for people, JSON for programs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "paired.hpp"

namespace hostlaunch::bench {

struct settings {
    int rounds = 60;
    int short_rounds = 300;  // where one takes a millisecond
    int warm_up = 5;
    int calls = 400;         // launches in a round
    int outstanding = 1000;  // at most, in the long memory run
    int growth_launches = 1000000;
    int growth_pairs = 2;
    int thread_functions = 8000;  // of all threads together, in a round
    std::string json;             // file to write, empty: none
    std::string commit = "unknown";
};

// How a figure is compared with its baseline.
enum class comparison { none, difference, ratio };

struct figure {
    std::string group;
    std::string name;
    std::string unit;
    samples values = {};
    std::string baseline = {};  // its name; empty if this is the baseline or there is none
    samples compared = {};      // paired differences or ratios
    comparison how = comparison::none;
    std::string status = "measured";  // else why there are no values
};

class report {
  public:
    void add(figure f) { figures_.push_back(std::move(f)); }

    // Adds column `column` of all subjects as a group, each compared with the subject `baseline`.
    void add_group(const std::string& group, const std::string& unit, std::size_t column,
                   const std::vector<subject>& subjects, const std::string& baseline,
                   comparison how = comparison::difference);

    // Says why something could not be measured.
    void add_missing(const std::string& group, const std::string& name, const std::string& unit,
                     const std::string& status);

    void print() const;

    // Returns false if the file cannot be written.
    bool write_json(const settings& s) const;

  private:
    std::vector<figure> figures_;
};

// Pairs of name and value: driver, GPU, processor, compiler, build, commit, date.
std::vector<std::pair<std::string, std::string>> conditions(const settings& s);

}  // namespace hostlaunch::bench
