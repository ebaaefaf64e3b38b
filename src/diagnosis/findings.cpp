// SPDX-License-Identifier: Apache-2.0
// The sentences of a report.
#include "diagnosis/findings.hpp"

#include <unistd.h>

#include <algorithm>

#include "core/routes/route.hpp"

namespace hostlaunch::diagnosis {
namespace {

using core::trace::phase;

// Which paragraphs of advice a report needs.
struct advice {
    bool gil = false;
    bool running = false;
    bool pending = false;
    bool launching = false;
};

const char* plural(std::uint32_t count) noexcept {
    return count == 1 ? " is" : "s are";
}

void describe_thread(report& out, const occupied_thread& t, std::uint64_t lasted, advice& need) {
    const char* name = core::text_of(t.now.of.name);
    const duration_text time(lasted);
    const thread_text thread(t.log->thread(), t.log->handle());
    const stream_text stream(t.now.of.stream);
    const char* on = t.now.of.replayed ? "a graph" : stream.c_str();
    switch (t.now.now) {
        case phase::ready:
            need.gil = true;
            out.add("  %s has waited for the GIL for %s, on %s; %s waits until it has run\n", name,
                    time.c_str(), thread.c_str(), on);
            return;
        case phase::runs:
            need.running = true;
            out.add("  %s has run for %s, on %s; %s waits until it returns\n", name, time.c_str(),
                    thread.c_str(), on);
            return;
        case phase::launches:
            need.launching = true;
            out.add(
                "  the launch of %s has been in the driver for %s, on %s; %s does not take it\n",
                name, time.c_str(), thread.c_str(), on);
            return;
        default:
            out.add("  %s has waited for %s for %s, in a call of this library\n", thread.c_str(),
                    on, time.c_str());
    }
}

void describe_stream(report& out, const waiting_stream& s, bool stuck, std::uint64_t now) {
    const stream_text stream(s.stream);
    const duration_text time(now - s.since);
    const core::route* route = s.oldest.route;
    out.add("  %u function%s pending on %s, the first (%s%s%s) for %s%s\n", s.pending,
            plural(s.pending), stream.c_str(), core::text_of(s.oldest.name),
            route != nullptr ? ", route " : "", route != nullptr ? route->name : "", time.c_str(),
            stuck ? "; the stream does not get there, and no function of its context runs" : "");
}

void describe_unmarked(report& out, const unmarked_run& r, std::uint64_t lasted) {
    const duration_text time(lasted);
    const stream_text stream(r.of.stream);
    out.add("  %s has run, or has waited for the GIL, for at least %s; ", core::text_of(r.of.name),
            time.c_str());
    if (r.of.route == nullptr) {
        out.add("%s waits for it\n", stream.c_str());
    } else {
        out.add("it was launched on %s, which has gone on\n", stream.c_str());
    }
}

void describe_advice(report& out, const advice& need) {
    if (need.gil) {
        out.add(
            "  What fits: some thread keeps the GIL. If it does so in a CUDA call that waits "
            "for that stream, neither can go on: docs/errors.md, \"The deadlock rule\".\n");
    }
    if (need.running) {
        out.add(
            "  What fits: the function itself has not returned. If it waits (for a lock, an "
            "import, another stream's function), look who must end that wait: a thread that "
            "waits for this stream, or a function behind this one, never will, since one thread "
            "runs all functions of a context: docs/errors.md, \"The deadlock rule\", last "
            "paragraph.\n");
    }
    if (need.pending) {
        out.add(
            "  What fits: the stream has work in front of the function that has not completed: "
            "a kernel, a copy, a wait for an event or a value that nobody sets.\n");
    }
    if (need.launching) {
        out.add(
            "  What fits: the driver's queue is full, and what is in front does not complete: "
            "docs/errors.md, \"The deadlock rule\", calls that block when the queue is full.\n");
    }
}

}  // namespace

void describe(report& out, const standstill& seen, std::uint64_t now,
              std::uint64_t limit) noexcept {
    const duration_text the_limit(limit);
    out.add("hostlaunch watchdog: this does not move (process %d, limit %s):\n",
            static_cast<int>(getpid()), the_limit.c_str());
    advice need;
    for (const occupied_thread& t : seen.threads()) {
        const std::uint64_t lasted = now - std::min(t.since, now);
        if (lasted >= limit) describe_thread(out, t, lasted, need);
    }
    for (const unmarked_run& r : seen.runs()) {
        const std::uint64_t lasted = now - r.since;
        if (lasted < limit) continue;
        need.running = true;
        describe_unmarked(out, r, lasted);
    }
    for (const waiting_stream& s : seen.streams()) {
        if (now - s.since < limit) continue;
        const auto contexts = seen.contexts();
        const auto of = std::find_if(contexts.begin(), contexts.end(),
                                     [&s](const auto& c) { return c.context == s.context; });
        const bool stuck = of != contexts.end() && !of->runs && now - of->moved_at >= limit;
        need.pending |= stuck;
        describe_stream(out, s, stuck, now);
    }
    describe_advice(out, need);
}

void describe_abandoned(report& out, std::uint64_t count) noexcept {
    out.add(
        "hostlaunch watchdog: %llu function%s will never run: the context has failed "
        "(process %d); docs/errors.md, \"Functions that never run\"\n",
        static_cast<unsigned long long>(count), count == 1 ? "" : "s", static_cast<int>(getpid()));
}

}  // namespace hostlaunch::diagnosis
