// SPDX-License-Identifier: Apache-2.0
// host_launch for C++: the trampolines, and the non-template parts of the overloads.
#include "hostlaunch/launch.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

#include "core/gate.hpp"
#include "core/launch.hpp"
#include "core/outcomes.hpp"
#include "core/pool.hpp"
#include "core/process.hpp"
#include "core/user_data.hpp"
#include "surface/border.hpp"
#include "surface/run.hpp"

namespace hostlaunch {
namespace {

using core::gate;
using core::record;
using core::state;

constexpr const char* attempted = "host_launch";

extern "C" void hostlaunch_call(void* user_data) {
    if (!gate().enter()) return;  // the process ends: the launch never runs
    record* r = core::record_pool::instance().claim(reinterpret_cast<core::token>(user_data));
    if (r != nullptr) {
        const detail::closure_operations& operations = *r->operations;
        const state outcome = run_guarded([&] { operations.run(r->payload); });
        if (operations.destroy == nullptr) {
            core::finish_in_place(*r, outcome);
        } else {
            core::finish(*r, outcome);  // the housekeeper destroys it
        }
    }
    gate().leave();
    core::end_in_forked_child();
}

void destroy_copy(void* storage) noexcept {
    std::free(*static_cast<void**>(storage));
}

constexpr detail::closure_operations copy_operations{nullptr, &destroy_copy};

core::status launch_bare(stream_ref stream, abi::host_fn fn, void* user_data) {
    return on_stream(stream, [&](core::stream_target target) {
        return core::launch_untracked(target, fn, user_data);
    });
}

void require_launches(const char* what) {
    core::throw_if_failed(core::enter_for_launch(), what);
}

}  // namespace

namespace detail {

void refuse_null() {
    throw error(abi::error_invalid_value, "CUDA_ERROR_INVALID_VALUE",
                "the host function is refused: it is a null pointer or an empty std::function");
}

static_assert(sizeof(core::record::payload) == storage_bytes);
static_assert(alignof(core::record) >= storage_alignment);

namespace {

// What a launch does when it did not happen.
[[noreturn, gnu::noinline, gnu::cold]] void give_up(record& r, core::status s) {
    if (r.operations->destroy != nullptr) r.operations->destroy(r.payload);
    core::record_pool::instance().recycle(r);
    core::throw_error(s, attempted);
}

[[noreturn, gnu::noinline, gnu::cold]] void leave_and_give_up(core::stream& owner, record& r,
                                                              core::status s) {
    owner.guard().leave();
    give_up(r, s);
}

// Loads the driver if need be.
[[gnu::noinline, gnu::cold]] void enter_slowly(record& r) {
    core::status s;
    try {
        s = core::enter_for_launch_slowly();
    } catch (...) {
        if (r.operations->destroy != nullptr) r.operations->destroy(r.payload);
        core::record_pool::instance().recycle(r);
        throw;
    }
    if (!s.ok()) give_up(r, s);
}

}  // namespace

[[gnu::noinline, gnu::cold]] static core::record* acquire_grown() {
    // In a forked child another thread may hold the pool's mutex for ever.
    if (core::forked()) core::throw_error(core::refuse(misuse::forked), attempted);
    record* r = core::record_pool::instance().acquire_grown();
    if (r == nullptr) throw std::bad_alloc();
    return r;
}

core::record* acquire() {
    return core::record_pool::instance().pop_or(&acquire_grown);
}

void give_back(core::record* r) noexcept {
    core::record_pool::instance().recycle(*r);
}

// Apart, so that neither way saves registers for the other.
[[gnu::noinline]] static void launch_foreign(core::record& r, stream_ref stream) {
    if (stream.is_empty()) [[unlikely]]
        give_up(r, core::refuse_closed("stream"));
    if (!core::ordinary_course()) [[unlikely]]
        enter_slowly(r);
    const core::status s = core::launch_gated(raw(stream), nullptr, r, &hostlaunch_call);
    if (!s.ok()) [[unlikely]]
        give_up(r, s);
}

void launch(core::record* r, stream_ref stream, const closure_operations& operations) {
    r->operations = &operations;
    core::stream* owner = stream.owner();
    if (owner == nullptr) return launch_foreign(*r, stream);
    if (!core::ordinary_course()) [[unlikely]]
        enter_slowly(*r);
    if (!owner->guard().enter()) [[unlikely]]
        give_up(*r, core::refuse_closed("stream"));
    const core::status s = core::launch_gated_on(*owner, *r, &hostlaunch_call);
    if (!s.ok()) [[unlikely]]
        leave_and_give_up(*owner, *r, s);
    owner->guard().leave();
}

void run_borrowed(void (*call)(void*), void* fn) {
    if (!gate().enter()) return;
    run_guarded([&] { call(fn); });
    gate().leave();
    core::end_in_forked_child();
}

void launch_borrowed(stream_ref stream, void (*trampoline)(void*), void* fn) {
    require_launches(attempted);
    core::throw_if_failed(launch_bare(stream, trampoline, fn), attempted);
}

}  // namespace detail

void host_launch(stream_ref stream, void (*fn)(void*), void* user_data) {
    if (fn == nullptr) detail::refuse_null();
    require_launches(attempted);
    core::throw_if_failed(launch_bare(stream, fn, user_data), attempted);
}

void host_launch(stream_ref stream, void (*fn)(void*), std::span<const std::byte> user_data) {
    if (fn == nullptr) detail::refuse_null();
    require_launches(attempted);
    void* copy = core::copy_user_data(user_data);
    if (copy == nullptr && !user_data.empty()) throw std::bad_alloc();
    record* r = core::record_pool::instance().acquire();
    if (r == nullptr) {
        std::free(copy);
        throw std::bad_alloc();
    }
    r->operations = &copy_operations;
    ::new (r->payload) void*(copy);
    const core::status s = on_stream(stream, [&](const core::stream_target& target) {
        return core::launch_as_is(target, *r, core::record_kind::as_is, fn, copy);
    });
    if (s.ok()) return;
    std::free(copy);
    core::record_pool::instance().recycle(*r);
    throw core::to_error(s, attempted);
}

}  // namespace hostlaunch
