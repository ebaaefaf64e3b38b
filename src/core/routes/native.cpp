// SPDX-License-Identifier: Apache-2.0
// Launches of native code, told apart from pending ones by the event behind each.
//
// The list of tracked launches belongs to one thread at a time: whoever takes the owner flag. It is
// no lock: nobody waits for it but `look(true)`, which waits bounded and holds nothing meanwhile.
// The list goes through the records themselves, so that looking needs no memory.
#include "core/routes/native.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "core/objects/capture_check.hpp"
#include "core/objects/context_failure.hpp"
#include "core/process/process.hpp"
#include "core/routes/driver_thread.hpp"
#include "core/task/outcomes.hpp"
#include "core/task/release.hpp"
#include "core/task/task_notes.hpp"
#include "driver/driver.hpp"

namespace hostlaunch::core {
namespace {

using driver_library::api;

constinit record_stack fresh;  // handed over since the last look

// Set by whoever may touch `first_tracked`: exchanged with acquire, cleared with release.
constinit std::atomic<bool> owned{false};
constinit std::atomic<std::uint64_t> tracked_count{0};
constinit record* first_tracked = nullptr;  // oldest first, linked by `next`: index + 1, or 0

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

record* next_of(const record& r) noexcept {
    const auto link = static_cast<std::uint32_t>(r.next.load(std::memory_order_relaxed));
    return link == 0 ? nullptr : &record_pool::instance().at(link - 1);
}

void set_next(record& r, const record* next) noexcept {
    r.next.store(next == nullptr ? 0 : next->index() + 1, std::memory_order_relaxed);
}

// The streams that are known to wait, by the ids that no two streams ever share: a handle may be
// used again while launches of its former stream are pending. A stream runs in order: behind a
// launch that has not run, none of the same stream has.
class waiting_streams {
  public:
    bool contain(std::uint64_t id) const noexcept {
        return std::find(ids_.begin(), ids_.begin() + count_, id) != ids_.begin() + count_;
    }
    // Those that find no room are asked launch by launch.
    void add(std::uint64_t id) noexcept {
        if (id != 0 && count_ < static_cast<std::ptrdiff_t>(ids_.size())) {
            ids_[static_cast<std::size_t>(count_++)] = id;
        }
    }

  private:
    std::array<std::uint64_t, 64> ids_{};
    std::ptrdiff_t count_ = 0;
};

// Runs that have ended are released; of what an error ended nobody knows whether it still runs.
void finish_native(record& r, outcome how) noexcept {
    const std::uint64_t generation = r.generation();
    if (how == outcome::ran) {
        end_pending(r, generation, how);
    } else {
        leak(r, generation, state::pending, how);
    }
}

// Ends one launch if its event tells so. Whatever becomes of the record then is not ours.
bool end_if_over(record& r) noexcept {
    const auto event = r.event.load(std::memory_order_relaxed);
    const int code = api().event_query(event);
    if (code != abi::success && !is_context_failure(code)) return false;
    destroy_event(event, code);
    finish_native(r, code == abi::success ? outcome::ran : outcome::abandoned);
    return true;
}

void take_fresh() noexcept {
    record* last = first_tracked;
    while (last != nullptr && next_of(*last) != nullptr)
        last = next_of(*last);
    fresh.drain([&last](record& r) {
        set_next(r, nullptr);
        if (last == nullptr) {
            first_tracked = &r;
        } else {
            set_next(*last, &r);
        }
        last = &r;
    });
}

bool look_owned() noexcept {
    take_fresh();
    if (first_tracked == nullptr) return false;
    const relaxed_capture mode;
    waiting_streams waiting;
    std::uint64_t ended = 0;
    record* before = nullptr;
    for (record* r = first_tracked; r != nullptr;) {
        record* const next = next_of(*r);
        const std::uint64_t stream = r->stream_id.load(std::memory_order_relaxed);
        if (!waiting.contain(stream) && end_if_over(*r)) {
            ++ended;
            if (before == nullptr) {
                first_tracked = next;
            } else {
                set_next(*before, next);
            }
        } else {
            waiting.add(stream);
            before = r;
        }
        r = next;
    }
    tracked_count.fetch_sub(ended);
    return ended != 0;
}

bool look(bool wait) noexcept {
    if (!any_tracked() || !take_ownership(wait)) return false;
    const bool found = look_owned();
    owned.store(false, std::memory_order_release);
    if (found) request_release();
    return found;
}

status make_event(abi::context context, abi::event* out) noexcept {
    const current_context scope(context);
    if (!scope.status().ok()) return scope.status();
    return {api().event_create(out, abi::event_disable_timing), "cuEventCreate"};
}

// A default stream's token names another stream in each context or thread; a driver without the
// call tells no ids. Then each launch is asked for by itself.
std::uint64_t id_of(abi::stream stream) noexcept {
    unsigned long long id = 0;
    if (is_default_stream(stream) || api().stream_get_id == nullptr) return 0;
    return api().stream_get_id(stream, &id) == abi::success ? id : 0;
}

// Everything before the driver has the function. requires: a scope for the target.
status prepare(stream_target& target, record& r, const route& taken) noexcept {
    if (const status s = check_capture(target.handle); !s.ok()) return s;
    if (const status s = find_context(target); !s.ok()) return s;
    abi::event event = nullptr;
    {
        const relaxed_capture mode;
        keep_context(target.context);
        if (const status s = make_event(target.context, &event); !s.ok()) return s;
    }
    note_stream(r.token_from(r.word.load(std::memory_order_relaxed)),
                reinterpret_cast<std::uint64_t>(target.handle));
    r.stream_id.store(id_of(target.handle), std::memory_order_relaxed);
    r.event.store(event, std::memory_order_relaxed);
    r.context.store(target.context, std::memory_order_relaxed);
    r.route.store(&taken, std::memory_order_relaxed);
    return {};
}

status launch_by(const route& taken, stream_target target, record& r,
                 const native_code& code) noexcept {
    const target_scope scope(target);
    if (!scope.status().ok()) return scope.status();
    const std::uint64_t free_word = r.word.load(std::memory_order_relaxed);
    if (const status s = prepare(target, r, taken); !s.ok()) return s;
    const abi::event event = r.event.load(std::memory_order_relaxed);
    const std::uint64_t launching = detail::fill(r, free_word);
    const int refused = api().launch_host_func(target.handle, code.fn, code.user_data);

    const relaxed_capture mode;
    if (refused != abi::success) {
        r.move_on(launching, state::free);
        api().event_destroy(event);
        return {refused, "cuLaunchHostFunc"};
    }
    const int untracked = api().event_record(event, target.handle);
    detail::accepted(r, launching);
    if (untracked == abi::success) {
        tracked_count.fetch_add(1);
        fresh.push(r);
        return {};
    }
    finish_native(r, outcome::abandoned);  // the launch stands; nothing will tell when it has run
    api().event_destroy(event);
    return {};
}

bool drop(record& r, std::uint64_t generation, state now) noexcept {
    return leak(r, generation, now, outcome::dropped);
}

}  // namespace

constinit const route native{
    .name = "native",
    .launch = [](stream_target target, record& r,
                 const native_code& code) noexcept { return launch_by(native, target, r, code); },
    .on_context_failure = nullptr,
    .on_exit = &drop,
    .look = &look,
};

// What native code is looked for finds these as well.
constinit const route unknown_code{
    .name = "unknown code",
    .launch =
        [](stream_target target, record& r, const native_code& code) noexcept {
            return launch_by(unknown_code, target, r, code);
        },
    .on_context_failure = nullptr,
    .on_exit = &drop,
    .awaited_at_exit = true,
};

status launch_untracked(stream_target target, const native_code& code) noexcept {
    const target_scope scope(target);
    if (!scope.status().ok()) return scope.status();
    if (const status s = check_capture(target.handle); !s.ok()) return s;
    return {api().launch_host_func(target.handle, code.fn, code.user_data), "cuLaunchHostFunc"};
}

bool any_tracked() noexcept {
    return tracked_count.load() != 0;
}

}  // namespace hostlaunch::core
