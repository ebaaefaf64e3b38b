// SPDX-License-Identifier: Apache-2.0
// When to report, and the thread that looks.
#include "diagnosis/watchdog.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>

#include "core/process/process.hpp"
#include "core/task/outcomes.hpp"
#include "core/task/trace.hpp"
#include "diagnosis/background.hpp"
#include "diagnosis/findings.hpp"
#include "diagnosis/report.hpp"
#include "diagnosis/snapshot.hpp"
#include "diagnosis/standstill.hpp"
#include "driver/settings.hpp"

namespace hostlaunch::diagnosis {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds snapshot_limit{5000};

std::uint64_t monotonic() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
           static_cast<std::uint64_t>(now.tv_nsec);
}

// What is reported of one thing that does not move: once at the limit, then each time that it has
// lasted twice as long.
struct incident {
    std::uint64_t key = 0;
    std::uint64_t next_at = 0;  // nanoseconds of standing still
    bool seen = false;
};

// Used by the watchdog's thread alone, and by set_watchdog while there is none.
struct state {
    nanoseconds limit{0};
    int file = STDERR_FILENO;
    standstill seen;
    report text;
    std::array<incident, 128> incidents;
    std::size_t n_incidents = 0;
    std::uint64_t abandoned = 0;
};
state& the_state() {
    static state& only = *new state;
    return only;
}

constinit std::mutex changing;
background* thread = nullptr;
std::atomic<void (*)(int)> teller{nullptr};
std::atomic<void (*)(int) noexcept> preparation{nullptr};

enum class due { no, again, first };

due is_due(state& s, const finding& f) noexcept {
    const auto end = s.incidents.begin() + static_cast<std::ptrdiff_t>(s.n_incidents);
    auto known =
        std::find_if(s.incidents.begin(), end, [&f](const incident& i) { return i.key == f.key; });
    const bool fresh = known == end;
    if (fresh) {
        if (s.n_incidents == s.incidents.size()) return due::no;
        *known = {f.key, 0, true};
        ++s.n_incidents;
    }
    known->seen = true;
    if (f.lasted < known->next_at) return due::no;
    known->next_at = f.lasted * 2;
    return fresh ? due::first : due::again;
}

void forget_ended(state& s) noexcept {
    const auto end = s.incidents.begin() + static_cast<std::ptrdiff_t>(s.n_incidents);
    const auto kept =
        std::remove_if(s.incidents.begin(), end, [](const incident& i) { return !i.seen; });
    s.n_incidents = static_cast<std::size_t>(kept - s.incidents.begin());
    for (incident& i : s.incidents)
        i.seen = false;
}

void tell_more(const state& s) noexcept {
    auto* tell = teller.load();
    if (tell == nullptr) return;
    const char* failed = nullptr;
    switch (in_snapshot(tell, s.file, snapshot_limit)) {
        case snapshot_end::told:
            return;
        case snapshot_end::crashed:
            failed =
                "ended by a crash in CPython's code that writes them (in a copy of the process)";
            break;
        case snapshot_end::took_too_long:
            failed = "not finished within 5 s";
            break;
        case snapshot_end::no_copy:
            failed = "none: the process cannot be copied, which takes memory";
            break;
    }
    report line;
    line.add("  stacks: %s\n", failed);
    line.write_to(s.file);
}

std::chrono::nanoseconds look() noexcept {
    state& s = the_state();
    const std::uint64_t now = monotonic();
    s.seen.look(now);
    due most = due::no;
    const auto limit = static_cast<std::uint64_t>(s.limit.count());
    for_each_finding(s.seen, now, limit,
                     [&](const finding& f) { most = std::max(most, is_due(s, f)); });
    forget_ended(s);
    s.text.clear();
    const std::uint64_t abandoned = core::detail::count.abandoned.load();
    if (abandoned > s.abandoned) describe_abandoned(s.text, abandoned - s.abandoned);
    s.abandoned = abandoned;
    if (most != due::no) describe(s.text, s.seen, now, limit);
    s.text.write_to(s.file);
    if (most == due::first) tell_more(s);
    return std::clamp<nanoseconds>(s.limit / 8, milliseconds(5), milliseconds(250));
}

// False if it is stuck where it writes: then it keeps what it uses.
bool end_thread() noexcept {
    if (thread == nullptr) return true;
    const bool ended = thread->stop(milliseconds(1000)) || !thread->is_of_this_process();
    if (ended) thread = nullptr;
    return ended;
}

// The process may unmap the library once its exit handlers have run.
void end_at_exit() {
    static std::once_flag once;
    std::call_once(once, [] { std::atexit([] { set_watchdog(nanoseconds(0), -1); }); });
}

}  // namespace

bool set_watchdog(nanoseconds limit, int file) noexcept {
    if (core::forked()) return limit.count() == 0;
    const std::lock_guard lock(changing);
    if (!end_thread()) return false;
    core::trace::remove_reader(core::trace::watchdog);
    if (limit.count() <= 0) return true;
    state& s = the_state();
    s.limit = limit;
    s.file = file;
    s.seen = {};
    s.n_incidents = 0;
    s.abandoned = core::detail::count.abandoned.load();
    core::trace::add_reader(core::trace::watchdog);
    thread = background::start("hl-watchdog", &look);
    if (thread == nullptr) {
        core::trace::remove_reader(core::trace::watchdog);
        return false;
    }
    end_at_exit();
    return true;
}

void start_watchdog_from_environment() noexcept {
    static std::once_flag once;
    std::call_once(once, [] {
        const char* said = settings::text("HOSTLAUNCH_WATCHDOG");
        const auto seconds = said != nullptr ? settings::number(said, 1e-3, 1e6) : std::nullopt;
        if (!seconds) return;
        if (auto* prepare = preparation.load()) prepare(STDERR_FILENO);
        set_watchdog(nanoseconds(static_cast<std::int64_t>(*seconds * 1e9)), STDERR_FILENO);
    });
}

void set_preparation(void (*prepare)(int file) noexcept) noexcept {
    preparation.store(prepare);
}

void set_teller(void (*tell)(int file)) noexcept {
    teller.store(tell);
}

}  // namespace hostlaunch::diagnosis
