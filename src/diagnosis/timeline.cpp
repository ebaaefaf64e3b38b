// SPDX-License-Identifier: Apache-2.0
// Each kind of mark as the events that show it.
#include "diagnosis/timeline.hpp"

#include <cstdio>
#include <fstream>
#include <string>

namespace hostlaunch::diagnosis {
namespace {

using core::trace::event;
using core::trace::phase;
using core::trace::subject;

std::string name_of_thread(int thread) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/comm");
    std::string name;
    std::getline(file, name);
    return (name.empty() ? std::string("thread") : name) + " " + std::to_string(thread);
}

std::string name_of_stream(std::uint64_t stream) {
    if (stream == 0) return "default stream";
    if (stream == 1) return "legacy default stream";
    if (stream == 2) return "per-thread default stream";
    char text[32];
    std::snprintf(text, sizeof text, "stream 0x%llx", static_cast<unsigned long long>(stream));
    return text;
}

constexpr std::uint64_t shortest_wait = 1000;  // nanoseconds; what is shorter is no wait

// Handles that no stream has.
constexpr std::uint64_t graphs_track = ~std::uint64_t{0};
constexpr std::uint64_t others_track = graphs_track - 1;
constexpr std::size_t most_tracks = 1000;

std::string name_of_track(std::uint64_t stream) {
    if (stream == graphs_track) return "graphs";
    return stream == others_track ? "other streams" : name_of_stream(stream);
}

}  // namespace

timeline::timeline(json_events& out) : out_(out) {
    std::ifstream file("/proc/self/comm");
    std::string program;
    std::getline(file, program);
    const auto name_process = [this](std::int64_t process, std::string_view name) {
        out_.begin('M').number("pid", process).string("name", "process_name");
        out_.object("args").string("name", name).end_object().end();
    };
    name_process(process_, program);
    name_process(streams_, "CUDA streams (host functions)");
}

void timeline::name_track(std::int64_t process, std::int64_t track, std::string_view name) {
    out_.begin('M').number("pid", process).number("tid", track).string("name", "thread_name");
    out_.object("args").string("name", name).end_object().end();
}

timeline::progress& timeline::progress_of(const core::trace::thread_log& log) {
    progress& p = threads_[&log];
    if (p.thread != log.thread()) {  // the first event, or the log has another thread now
        p = {log.thread(), 0};
        name_track(process_, p.thread, name_of_thread(p.thread));
    }
    return p;
}

std::int64_t timeline::track_of(std::uint64_t stream) {
    if (tracks_.size() >= most_tracks && !tracks_.contains(stream)) stream = others_track;
    const auto [found, fresh] =
        tracks_.try_emplace(stream, static_cast<std::int64_t>(tracks_.size()) + 1);
    if (fresh) name_track(streams_, found->second, name_of_track(stream));
    return found->second;
}

json_events& timeline::begin(char phase, std::int64_t process, std::int64_t track,
                             std::uint64_t at) {
    return out_.begin(phase)
        .number("pid", process)
        .number("tid", track)
        .microseconds("ts", scale_.to_nanoseconds(at))
        .string("cat", "hostlaunch");
}

// The arguments that a viewer shows for a slice that is selected.
void timeline::finish(const subject& of) {
    out_.object("args").string("function", core::text_of(of.name));
    if (!of.replayed) out_.string("stream", name_of_stream(of.stream));
    out_.hexadecimal("task", of.token).end_object().end();
}

void timeline::add(const core::trace::thread_log& log, const event& e) {
    progress& p = progress_of(log);
    switch (e.now) {
        case phase::accepted:
            add_launch(p, e);
            break;
        case phase::runs:
            end_slice(p, e.began);  // of a run whose end was lost
            p.running = e.of.token;
            add_begin_of_run(p, e);
            break;
        case phase::ran:
        case phase::raised:
            end_slice(p, p.running == e.of.token ? e.at : e.began);
            add_end_of_run(e);
            break;
        case phase::released:
            add_release(p, e);
            break;
        default:
            break;
    }
}

void timeline::add_span(const progress& p, const event& e, std::string_view name) {
    const std::uint64_t from = scale_.to_nanoseconds(e.began);
    begin('X', process_, p.thread, e.began)
        .microseconds("dur", scale_.to_nanoseconds(e.at) - from)
        .string("name", name);
    finish(e.of);
}

void timeline::add_launch(const progress& p, const event& accepted) {
    add_span(p, accepted, "host_launch");
    begin('s', process_, p.thread, accepted.began)
        .hexadecimal("id", accepted.of.token)
        .string("name", "launch")
        .end();
    begin('b', streams_, track_of(accepted.of.stream), accepted.began)
        .hexadecimal("id", accepted.of.token)
        .string("name", "pending");
    finish(accepted.of);
}

void timeline::add_begin_of_run(const progress& p, const event& runs) {
    const std::uint64_t waited = scale_.to_nanoseconds(runs.at) - scale_.to_nanoseconds(runs.began);
    if (waited >= shortest_wait) add_span(p, runs, "waits for the GIL");
    begin('B', process_, p.thread, runs.at).string("name", core::text_of(runs.of.name));
    finish(runs.of);
    if (runs.of.replayed) return;
    begin('f', process_, p.thread, runs.at)
        .hexadecimal("id", runs.of.token)
        .string("bp", "e")
        .string("name", "launch")
        .end();
    begin('e', streams_, track_of(runs.of.stream), runs.began)
        .hexadecimal("id", runs.of.token)
        .string("name", "pending")
        .end();
}

void timeline::end_slice(progress& p, std::uint64_t at) {
    if (p.running != 0) begin('E', process_, p.thread, at).end();
    p.running = 0;
}

void timeline::add_end_of_run(const event& ended) {
    const std::int64_t track = track_of(ended.of.replayed ? graphs_track : ended.of.stream);
    const std::uint64_t from = scale_.to_nanoseconds(ended.began);
    begin('X', streams_, track, ended.began)
        .microseconds("dur", scale_.to_nanoseconds(ended.at) - from)
        .string("name", core::text_of(ended.of.name))
        .object("args")
        .string("outcome", ended.now == phase::ran ? "ran" : "raised")
        .hexadecimal("task", ended.of.token)
        .end_object()
        .end();
}

void timeline::add_release(const progress& p, const event& released) {
    begin('i', process_, p.thread, released.at)
        .string("s", "t")
        .string("name", "released")
        .object("args")
        .string("function", core::text_of(released.of.name))
        .hexadecimal("task", released.of.token)
        .end_object()
        .end();
}

void timeline::add_lost(const core::trace::thread_log& log, std::uint32_t count) {
    const progress& p = progress_of(log);
    begin('i', process_, p.thread, core::ticks())
        .string("s", "p")
        .string("name",
                std::to_string(count) + " events lost here: more than the trace can keep up with");
    out_.end();
}

}  // namespace hostlaunch::diagnosis
