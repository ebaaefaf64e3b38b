// SPDX-License-Identifier: Apache-2.0
// The switch that turns marking on, and the marks.
#include "core/task/trace.hpp"

#include <atomic>
#include <mutex>

#include "core/process/gate.hpp"
#include "core/process/process.hpp"
#include "core/task/task_notes.hpp"
#include "core/task/ticks.hpp"

namespace hostlaunch::core::trace {
namespace {

// Changed by add_reader, remove_reader and forget; read by marks, without order: a mark that comes
// late or early by one is nobody's harm.
constinit std::atomic<unsigned> readers{0};
constinit std::atomic<const live_reader*> live{nullptr};
constinit std::mutex changing;

// What this thread was called with, and when.
struct entry {
    subject of;
    std::uint64_t at;
};
constinit __attribute__((tls_model("initial-exec"))) thread_local entry entered{};

bool reads(reader r) noexcept {
    return (readers.load(std::memory_order_relaxed) & r) != 0;
}

// The bits on the fast paths.
void turn(bool on) noexcept {
    auto& condition = core::detail::condition;
    if (on) {
        condition.fetch_or(core::detail::watched_bit);
    } else {
        condition.fetch_and(~unsigned{core::detail::watched_bit});
    }
    gate().set_watched(on);
}

// Marks that the thread does something from now on; returns when that is.
std::uint64_t mark_begin(const subject& of, phase now) noexcept {
    const std::uint64_t at = ticks();
    if (thread_log* log = log_of_this_thread(); log != nullptr) log->set_current({at, 0, of, now});
    return at;
}

void mark_end(const subject& of, phase now, std::uint64_t began) noexcept {
    thread_log* log = log_of_this_thread();
    if (log == nullptr) return;
    log->clear_current();
    if (reads(trace_file)) log->add({ticks(), began, of, now});
}

std::uint64_t token_of(const record& r) noexcept {
    const std::uint64_t generation = record::generation_of(r.word.load(std::memory_order_relaxed));
    return r.token_from(record::make_word(generation, state::free));
}

}  // namespace

void add_reader(reader r) noexcept {
    const std::lock_guard lock(changing);
    if (readers.fetch_or(r) == 0) turn(true);
}

void remove_reader(reader r) noexcept {
    const std::lock_guard lock(changing);
    if (readers.fetch_and(~unsigned{r}) == r) turn(false);
}

void set_live_reader(const live_reader& functions) noexcept {
    live.store(&functions, std::memory_order_release);  // acquired where it is called
}

bool is_on() noexcept {
    return readers.load(std::memory_order_relaxed) != 0;
}

void forget() noexcept {
    readers.store(0);
    turn(false);
}

launch::launch(const record& r, std::uint64_t stream, name_id name) noexcept
    : of_{token_of(r), stream, name, false} {
    note_name(of_.token, name);
    began_ = mark_begin(of_, phase::launches);
}

launch::~launch() {
    mark_end(of_, accepted_ ? phase::accepted : phase::refused, began_);
}

void enter_task(std::uint64_t token, std::uint64_t stream, bool replayed) noexcept {
    entered.of = {token, stream, note_of(token).name, replayed};
    entered.at = mark_begin(entered.of, phase::ready);
}

bool is_task_named() noexcept {
    return entered.of.name != no_name;
}

void begin_run(name_id name) noexcept {
    if (name != no_name) entered.of.name = name;
    const std::uint64_t at = mark_begin(entered.of, phase::runs);
    if (reads(trace_file)) {
        thread_log* log = log_of_this_thread();
        if (log != nullptr) log->add({at, entered.at, entered.of, phase::runs});
    }
    const auto* functions = live.load(std::memory_order_acquire);
    if (functions != nullptr) functions->begins(entered.of.name);
}

void end_run(bool raised) noexcept {
    const auto* functions = live.load(std::memory_order_acquire);
    if (functions != nullptr) functions->ends();
    mark_end(entered.of, raised ? phase::raised : phase::ran, entered.at);
}

void mark_release(const record& r) noexcept {
    thread_log* log = reads(trace_file) ? log_of_this_thread() : nullptr;
    if (log == nullptr) return;
    const std::uint64_t token = token_of(r);
    log->add({ticks(), 0, {token, 0, note_of(token).name, false}, phase::released});
}

waiting::waiting(std::uint64_t stream) noexcept : marked_(is_on()) {
    if (marked_) mark_begin({0, stream, no_name, false}, phase::waits);
}

waiting::~waiting() {
    if (!marked_) return;
    if (thread_log* log = log_of_this_thread(); log != nullptr) log->clear_current();
}

}  // namespace hostlaunch::core::trace
