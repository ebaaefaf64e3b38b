// SPDX-License-Identifier: Apache-2.0
// Polls the events behind as-is launches.
#include "core/as_is.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "core/context.hpp"
#include "core/outcomes.hpp"
#include "driver/driver.hpp"

namespace hostlaunch::core::as_is {
namespace {

record_stack fresh;  // handed over since the last poll

// Set by whoever may touch `tracked`: exchanged with acquire, cleared with release.
std::atomic<bool> owned{false};
std::atomic<std::uint64_t> tracked_count{0};

std::vector<record*>& tracked() {
    static std::vector<record*>& list = *new std::vector<record*>;
    return list;
}

bool take_ownership(bool wait) noexcept {
    if (!owned.exchange(true, std::memory_order_acquire)) return true;
    if (!wait) return false;
    const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(10);
    while (owned.exchange(true, std::memory_order_acquire)) {
        if (std::chrono::steady_clock::now() > limit) return false;
        std::this_thread::yield();
    }
    return true;
}

// Ends one launch if its event tells so.
bool end_if_over(record& r) noexcept {
    const auto event = r.event.load(std::memory_order_relaxed);
    const int code = driver_library::api().event_query(event);
    if (code != abi::success && !is_context_failure(code)) return false;
    destroy_event(event, code);
    finish_as_is(r, code == abi::success ? state::ran : state::abandoned);
    return true;
}

bool poll_owned() {
    std::vector<record*>& list = tracked();
    fresh.drain([&list](record& r) { list.push_back(&r); });
    if (list.empty()) return false;
    const relaxed_capture mode;
    // A stream runs in order: behind a launch that has not run, none of the same stream has. A
    // default stream's token names another stream in each context or thread, so those are always
    // asked.
    std::vector<abi::stream> waiting;
    const auto over = std::remove_if(list.begin(), list.end(), [&waiting](record* r) {
        const auto stream = r->stream.load(std::memory_order_relaxed);
        if (std::find(waiting.begin(), waiting.end(), stream) != waiting.end()) return false;
        if (end_if_over(*r)) return true;
        if (waiting.size() < 64 && !is_default_stream(stream)) waiting.push_back(stream);
        return false;
    });
    const auto ended = static_cast<std::uint64_t>(list.end() - over);
    list.erase(over, list.end());
    tracked_count.fetch_sub(ended);
    return ended != 0;
}

}  // namespace

void track(record& r) noexcept {
    tracked_count.fetch_add(1);
    fresh.push(r);
}

bool poll(bool wait) noexcept {
    if (!any() || !take_ownership(wait)) return false;
    const bool found = poll_owned();
    owned.store(false, std::memory_order_release);
    if (found) request_release();
    return found;
}

bool any() noexcept {
    return tracked_count.load() != 0;
}

}  // namespace hostlaunch::core::as_is
