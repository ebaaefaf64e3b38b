// SPDX-License-Identifier: Apache-2.0
// One look, compared with the one before.
#include "diagnosis/standstill.hpp"

#include <algorithm>

#include "core/task/ticks.hpp"

namespace hostlaunch::diagnosis {
namespace {

using core::unfinished;

// The driver's order within a stream, as far as the coarse clock tells it; any order that stays.
bool is_older(const unfinished& a, const unfinished& b) noexcept {
    if (a.launched_at != b.launched_at)
        return static_cast<std::int32_t>(a.launched_at - b.launched_at) < 0;
    return a.t < b.t;
}

template <class Table, class Matches>
auto* find_or_add(Table& table, std::size_t& count, Matches matches) noexcept {
    const auto end = table.begin() + static_cast<std::ptrdiff_t>(count);
    const auto found = std::find_if(table.begin(), end, matches);
    if (found != end) return &*found;
    if (count == table.size()) return static_cast<Table::pointer>(nullptr);
    table[count] = {};
    return &table[count++];
}

// Removes what this look has not seen; true for each of these is told to `gone`.
template <class Table, class Gone>
void keep_seen(Table& table, std::size_t& count, Gone gone) noexcept {
    const auto end = table.begin() + static_cast<std::ptrdiff_t>(count);
    const auto kept = std::remove_if(table.begin(), end, [&gone](const auto& entry) {
        if (!entry.seen) gone(entry);
        return !entry.seen;
    });
    count = static_cast<std::size_t>(kept - table.begin());
}

}  // namespace

void standstill::look(std::uint64_t now) noexcept {
    look_at_threads();
    look_at_launches(now);
}

void standstill::look_at_threads() noexcept {
    const auto scale = core::read_time_scale();
    n_threads_ = 0;
    for (auto* log = core::trace::first_log(); log != nullptr; log = core::trace::next_log(*log)) {
        occupied_thread t;
        if (n_threads_ == threads_.size() || !log->read_current(t.now)) continue;
        if (t.now.now == core::trace::phase::none) continue;
        t.log = log;
        t.since = scale.to_nanoseconds(t.now.at);
        threads_[n_threads_++] = t;
    }
}

context_progress* standstill::progress_of(abi::context context, std::uint64_t now) noexcept {
    auto* p = find_or_add(contexts_, n_contexts_, [context](const context_progress& known) {
        return known.context == context;
    });
    if (p != nullptr && p->moved_at == 0) *p = {context, now, false};
    return p;
}

void standstill::see_pending(const unfinished& u, std::uint64_t now) noexcept {
    auto* s = find_or_add(streams_, n_streams_, [&u](const waiting_stream& known) {
        return known.stream == u.stream && known.context == u.context;
    });
    if (s == nullptr) return;
    if (s->since == 0) *s = {u.stream, u.context, u, now, 0, false};
    if (!s->seen || is_older(u, s->oldest)) s->oldest = u;
    s->seen = true;
    ++s->pending;
}

void standstill::see_running(const unfinished& u, std::uint64_t now) noexcept {
    if (auto* p = progress_of(u.context, now); p != nullptr) p->runs = true;
    const auto marked = [&u](const occupied_thread& t) { return t.now.of.token == u.t; };
    if (std::any_of(threads_.begin(), threads_.begin() + static_cast<std::ptrdiff_t>(n_threads_),
                    marked))
        return;
    auto* run =
        find_or_add(runs_, n_runs_, [&u](const unmarked_run& known) { return known.of.t == u.t; });
    if (run == nullptr) return;
    if (run->since == 0) *run = {u, now, false};
    run->seen = true;
}

void standstill::look_at_launches(std::uint64_t now) noexcept {
    std::array<core::token, 256> former;
    for (std::size_t i = 0; i < n_streams_; ++i) {
        former[i] = streams_[i].oldest.t;
        streams_[i].seen = false;
        streams_[i].pending = 0;
    }
    for (std::size_t i = 0; i < n_runs_; ++i)
        runs_[i].seen = false;
    for (std::size_t i = 0; i < n_contexts_; ++i)
        contexts_[i].runs = false;
    const std::size_t known = n_streams_;
    core::for_each_unfinished([this, now](const unfinished& u) {
        if (u.runs) {
            see_running(u, now);
        } else {
            see_pending(u, now);
        }
    });
    for (std::size_t i = 0; i < known; ++i) {
        waiting_stream& s = streams_[i];
        if (s.seen && s.oldest.t == former[i]) continue;
        s.since = now;
        if (auto* p = progress_of(s.context, now); p != nullptr) p->moved_at = now;
    }
    const auto moved = [this, now](const auto& gone) {
        if (auto* p = progress_of(gone.of.context, now); p != nullptr) p->moved_at = now;
    };
    keep_seen(streams_, n_streams_, [](const waiting_stream&) {});
    keep_seen(runs_, n_runs_, moved);
    for (std::size_t i = 0; i < n_streams_; ++i)
        progress_of(streams_[i].context, now);
}

}  // namespace hostlaunch::diagnosis
