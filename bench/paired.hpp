// SPDX-License-Identifier: Apache-2.0
// Interleaved rounds of several subjects, and the statistics of their paired differences.
//
// A round measures every subject once, in an order drawn anew, so that what changes slowly (clock
// rates, other programs) meets all of them alike. Two subjects are compared by the median of their
// differences round by round, with an order-statistic interval that holds the true median with a
// probability of at least 95 %, whatever the distribution.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace hostlaunch::bench {

using samples = std::vector<double>;

inline double median(samples values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 != 0 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// The rank k such that the k-th smallest and the k-th largest of n values enclose the median with
// at least 95 %; 1 (all of them) if n is too small for that.
inline std::size_t interval_rank(std::size_t n) {
    double term = std::pow(0.5, static_cast<double>(n));  // P(no value below the median)
    double below = term;
    std::size_t rank = 1;
    for (std::size_t k = 1; k < n / 2; ++k) {
        term *= static_cast<double>(n - k + 1) / static_cast<double>(k);
        below += term;
        if (below > 0.025) break;
        rank = k + 1;
    }
    return rank;
}

// With fewer values than this, no interval of them reaches 95 %: then it holds all of them.
inline constexpr std::size_t least_for_interval = 6;

struct interval {
    double low = 0;
    double high = 0;
};

inline interval median_interval(samples values) {
    if (values.empty()) return {};
    std::sort(values.begin(), values.end());
    const std::size_t rank = interval_rank(values.size());
    return {values[rank - 1], values[values.size() - rank]};
}

inline samples differences(const samples& of, const samples& from) {
    samples result(std::min(of.size(), from.size()));
    std::transform(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(result.size()),
                   from.begin(), result.begin(), std::minus<>());
    return result;
}

inline samples ratios(const samples& of, const samples& from) {
    samples result(std::min(of.size(), from.size()));
    std::transform(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(result.size()),
                   from.begin(), result.begin(), std::divides<>());
    return result;
}

// What one round yields for one subject, e.g. {enqueue, drain}.
using measurement = std::vector<double>;

struct subject {
    std::string name;
    std::function<measurement()> measure;
    std::vector<samples> columns = {};  // one for each value of a measurement, one entry a round
};

// Measures all subjects `rounds` times; `warm_up` rounds before them are thrown away.
inline void run_rounds(std::vector<subject>& subjects, int rounds, int warm_up) {
    std::mt19937 random(1);
    std::vector<std::size_t> order(subjects.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (int round = -warm_up; round < rounds; ++round) {
        std::shuffle(order.begin(), order.end(), random);
        for (const std::size_t which : order) {
            subject& s = subjects[which];
            const measurement m = s.measure();
            if (round < 0) continue;
            s.columns.resize(m.size());
            for (std::size_t i = 0; i < m.size(); ++i)
                s.columns[i].push_back(m[i]);
        }
    }
}

}  // namespace hostlaunch::bench
