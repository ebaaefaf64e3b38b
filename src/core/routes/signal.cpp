// SPDX-License-Identifier: Apache-2.0
// Recording signals, and the table of the route.
#include "core/routes/signal.hpp"

#include "core/objects/capture_check.hpp"
#include "core/objects/context_failure.hpp"
#include "core/routes/driver_thread.hpp"
#include "core/routes/worker_pool.hpp"
#include "core/task/outcomes.hpp"
#include "core/task/task_notes.hpp"
#include "driver/driver.hpp"

namespace hostlaunch::core {
namespace {

using driver_library::api;

status make_event(abi::context context, abi::event* out) noexcept {
    const current_context scope(context);
    if (!scope.status().ok()) return scope.status();
    return {api().event_create(out, abi::event_disable_timing), "cuEventCreate"};
}

// A driver without the call tells no ids; then streams are told apart by their handles.
stream_key key_of(abi::stream stream) noexcept {
    unsigned long long id = 0;
    const bool known =
        api().stream_get_id != nullptr && api().stream_get_id(stream, &id) == abi::success;
    return known ? id : reinterpret_cast<std::uintptr_t>(stream);
}

// requires: the target's context is known and its stream does not capture.
status record_signal(const stream_target& target, record& r, worker_pool& pool) noexcept {
    const relaxed_capture mode;
    keep_context(target.context);
    abi::event event = nullptr;
    if (const status s = make_event(target.context, &event); !s.ok()) return s;
    const std::uint64_t free_word = r.word.load(std::memory_order_relaxed);
    r.context.store(target.context, std::memory_order_relaxed);
    r.route.store(&signal, std::memory_order_relaxed);
    note_stream(r.token_from(free_word), reinterpret_cast<std::uint64_t>(target.handle));
    const signal_entry listed{r.token_from(free_word), event, &signal_type_of(r)};
    const std::uint64_t launching = detail::fill(r, free_word);
    if (const int code = api().event_record(event, target.handle); code != abi::success) {
        r.move_on(launching, state::free);
        destroy_event(event, code);
        return {code, "cuEventRecord"};
    }
    detail::accepted(r, launching);
    pool.add(key_of(target.handle), listed);
    return {};
}

status check_and_record(stream_target target, record& r, worker_pool& pool) noexcept {
    const target_scope scope(target);
    if (!scope.status().ok()) return scope.status();
    if (const status s = check_capture(target.handle); !s.ok()) return s;
    if (const status s = find_context(target); !s.ok()) return s;
    return record_signal(target, r, pool);
}

status launch(stream_target target, record& r, const native_code&) noexcept {
    return launch_signal(target, r, worker_pool::common());
}

// What has not started can start no more, since the gate is closed. What runs keeps its payload.
bool drop(record& r, std::uint64_t generation, state now) noexcept {
    return now == state::running ? leak(r, generation, now, outcome::dropped)
                                 : end_pending(r, generation, outcome::dropped);
}

}  // namespace

status launch_signal(stream_target target, record& r, worker_pool& pool) noexcept {
    const status s = check_and_record(target, r, pool);
    if (!s.ok()) pool.give_back();
    return s;
}

// Events tell the failure of their context themselves.
constinit const route signal{.name = "signal",
                             .launch = &launch,
                             .on_context_failure = nullptr,
                             .on_exit = &drop,
                             .close = &worker_pool::stop_common};

}  // namespace hostlaunch::core
