// SPDX-License-Identifier: Apache-2.0
// The thread that empties the rings into the file.
#include "diagnosis/trace_file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

#include "core/task/trace.hpp"
#include "diagnosis/background.hpp"
#include "diagnosis/timeline.hpp"

namespace hostlaunch::diagnosis {
namespace {

namespace trace = core::trace;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t large = 1u << 18;
constexpr milliseconds busy_pause{1};  // a ring holds some milliseconds of a flood
constexpr milliseconds idle_pause{10};
constexpr milliseconds longest_unwritten{100};  // what a process that dies may lose

class writer {
  public:
    explicit writer(int file) : file_(file), timeline_(events_) { write_out(); }

    // Out of memory ends the trace as an error of the file does.
    bool look() noexcept try {
        timeline_.use_scale(core::read_time_scale());
        const std::uint64_t before = events_.count();
        for (auto* log = trace::first_log(); log != nullptr; log = trace::next_log(*log)) {
            log->drain([&](const trace::event& e) {
                timeline_.add(*log, e);
                if (events_.text().size() >= large) write_out();
            });
            if (const std::uint32_t lost = log->take_lost(); lost != 0) {
                timeline_.add_lost(*log, lost);
                lost_ += lost;
            }
        }
        if (steady_clock::now() - written_at_ >= longest_unwritten) write_out();
        return events_.count() != before;
    } catch (const std::bad_alloc&) {
        error_ = ENOMEM;
        return false;
    }

    trace_result end() {
        look();
        events_.text() += "\n]\n";
        write_out();
        if (close(file_) != 0 && error_ == 0) error_ = errno;
        return {error_, events_.count(), lost_};
    }

  private:
    // After an error nothing more is written: the file ends with a whole event, or where the disk
    // was full.
    void write_out() {
        std::string& text = events_.text();
        std::size_t done = 0;
        while (error_ == 0 && done < text.size()) {
            const ssize_t wrote = write(file_, text.data() + done, text.size() - done);
            if (wrote >= 0) {
                done += static_cast<std::size_t>(wrote);
            } else if (errno != EINTR) {
                error_ = errno;
            }
        }
        text.clear();
        written_at_ = steady_clock::now();
    }

    int file_;
    int error_ = 0;
    std::uint64_t lost_ = 0;
    json_events events_;
    timeline timeline_;
    steady_clock::time_point written_at_ = steady_clock::now();
};

// Changed by start_trace and stop_trace under the mutex; the thread uses the writer between them.
constinit std::mutex one_at_a_time;
writer* current = nullptr;
pid_t process = 0;

background* thread = nullptr;

std::chrono::nanoseconds look() noexcept {
    return current->look() ? busy_pause : idle_pause;
}

// A process that exits within a trace ends the file, too.
void end_at_exit() {
    static std::once_flag once;
    std::call_once(once, [] { std::atexit([] { stop_trace(); }); });
}

void forget_what_is_left() noexcept {
    for (auto* log = trace::first_log(); log != nullptr; log = trace::next_log(*log)) {
        log->drain([](const trace::event&) {});
        log->take_lost();
    }
}

}  // namespace

trace_result start_trace(const char* path) noexcept {
    const std::lock_guard lock(one_at_a_time);
    if (current != nullptr && process == getpid()) return {EBUSY};
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) return {errno};
    try {
        forget_what_is_left();
        current = new writer(file);
        process = getpid();
        thread = background::start("hl-trace", &look);
        if (thread != nullptr) {
            trace::add_reader(trace::trace_file);
            end_at_exit();
            return {};
        }
        delete std::exchange(current, nullptr);
    } catch (const std::bad_alloc&) {
    }
    close(file);
    return {ENOMEM};
}

trace_result stop_trace() noexcept {
    if (process != getpid()) return {EINVAL};  // the file and its thread are a parent's
    const std::lock_guard lock(one_at_a_time);
    if (current == nullptr) return {EINVAL};
    trace::remove_reader(trace::trace_file);
    // A thread that is stuck where it writes keeps the file; another trace is refused then.
    if (!thread->stop(std::chrono::seconds(30))) return {EIO};
    thread = nullptr;
    const trace_result result = current->end();
    delete std::exchange(current, nullptr);
    return result;
}

}  // namespace hostlaunch::diagnosis
