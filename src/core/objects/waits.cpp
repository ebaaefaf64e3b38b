// SPDX-License-Identifier: Apache-2.0
// Naps between questions, with signals let in during the naps only.
#include "core/objects/waits.hpp"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/objects/stream.hpp"
#include "core/process/background_thread.hpp"
#include "driver/driver.hpp"
#include "driver/settings.hpp"

namespace hostlaunch::core {
namespace {

using driver_library::api;
using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr microseconds shortest_nap{20};
constexpr milliseconds longest_nap{1};
constexpr milliseconds piece{250};

// Blocks all signals of this thread but those that a crash raises; they come during naps.
class signals_at_naps {
  public:
    signals_at_naps() noexcept {
        const sigset_t blocked = signals_sent_by_others();
        pthread_sigmask(SIG_BLOCK, &blocked, &former_);
    }
    ~signals_at_naps() { pthread_sigmask(SIG_SETMASK, &former_, nullptr); }
    signals_at_naps(const signals_at_naps&) = delete;
    signals_at_naps& operator=(const signals_at_naps&) = delete;

    // False if a signal's handler has run.
    bool nap(nanoseconds length) const noexcept {
        const timespec time{length.count() / 1'000'000'000, length.count() % 1'000'000'000};
        return ppoll(nullptr, 0, &time, &former_) == 0 || errno != EINTR;
    }

  private:
    sigset_t former_;
};

nanoseconds next_nap(nanoseconds waited, nanoseconds left) noexcept {
    return std::min<nanoseconds>(std::clamp<nanoseconds>(waited / 8, shortest_nap, longest_nap),
                                 left);
}

}  // namespace

wait_clock::time_point wait_deadline(std::chrono::duration<double> seconds) noexcept {
    constexpr std::chrono::duration<double> longest{1e9};
    const auto length = std::clamp(seconds, std::chrono::duration<double>::zero(), longest);
    return wait_clock::now() + duration_cast<wait_clock::duration>(length);
}

bool blocking_by_default() noexcept {
    static const bool wanted = [] {
        const char* said = settings::text("HOSTLAUNCH_BLOCKING_SYNC");
        return said != nullptr && std::strcmp(said, "1") == 0;
    }();
    return wanted;
}

status record_end(stream_target target, std::unique_ptr<event>& out) {
    if (const status s = may_block(); !s.ok()) return s;
    auto capture = abi::capture_status::none;
    const int code = api().stream_is_capturing(target.handle, &capture);
    // What the driver says of a wait for it; it does not wait.
    if (code != abi::success || capture != abi::capture_status::none) return sync_stream(target);
    return record_new_event(target, out, abi::event_blocking_sync);
}

status sync_stream_asleep(stream_target target) {
    std::unique_ptr<event> end;
    const status s = record_end(target, end);
    return s.ok() && end != nullptr ? end->sync() : s;
}

status wait_a_while(event& e, wait_clock::time_point deadline, waited* how) noexcept {
    const auto began = wait_clock::now();
    const signals_at_naps signals;
    for (;;) {
        bool done = false;
        const status s = e.query(&done);
        *how = waited::done;
        if (!s.ok() || done) return s;
        const auto now = wait_clock::now();
        *how = waited::late;
        if (now >= deadline) return {};
        *how = waited::disturbed;
        if (now - began >= piece || !signals.nap(next_nap(now - began, deadline - now))) return {};
    }
}

status wait_until(event& e, wait_clock::time_point deadline, bool* done) noexcept {
    if (const status s = may_block(); !s.ok()) return s;
    waited how = waited::disturbed;
    status s;
    while (s.ok() && how == waited::disturbed)
        s = wait_a_while(e, deadline, &how);
    *done = how == waited::done;
    return s;
}

}  // namespace hostlaunch::core
