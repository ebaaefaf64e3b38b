// SPDX-License-Identifier: Apache-2.0
// host_launch for C++: the non-template parts of the overloads.
#include "hostlaunch/launch.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

#include "api/convert.hpp"
#include "core/routes/driver_thread.hpp"
#include "core/routes/native.hpp"
#include "core/task/names.hpp"
#include "core/task/pool_of_records.hpp"
#include "core/task/release.hpp"
#include "core/task/trace.hpp"
#include "core/task/user_data.hpp"
#include "diagnosis/start.hpp"

namespace hostlaunch {
namespace {

using core::record;

constexpr const char* attempted = "host_launch";

// Here, since every program that launches anything is linked with this file.
[[maybe_unused]] const bool watches = (diagnosis::start_when_loaded(), true);

void destroy_copy(void* payload) noexcept {
    std::free(*static_cast<void**>(payload));
}

constexpr detail::task_type copy_type{nullptr, &destroy_copy, "native code with a copy"};

void launch_bare(stream_ref stream, const core::native_code& code) {
    const use_of on(stream);
    core::throw_if_failed(on.status(), attempted);
    core::throw_if_failed(core::launch_untracked(on.target(), code), attempted);
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

[[noreturn, gnu::noinline, gnu::cold]] void give_up(record& r, core::status s) {
    core::discard(r);
    core::throw_error(s, attempted);
}

[[noreturn, gnu::noinline, gnu::cold]] void leave_and_give_up(core::stream& owner, record& r,
                                                              core::status s) {
    owner.guard().leave();
    give_up(r, s);
}

// Loads the driver if need be.
[[gnu::noinline, gnu::cold]] void enter_slow(record& r) {
    core::status s;
    try {
        s = core::enter_for_launch_slow();
    } catch (...) {
        core::discard(r);
        throw;
    }
    if (!s.ok()) give_up(r, s);
}

}  // namespace

[[gnu::noinline, gnu::cold]] static core::record* acquire_grown() {
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

static core::status launch_on_use(core::record& r, const use_of& on) {
    return on.own() != nullptr ? core::launch_on(*on.own(), r)
                               : core::launch_on(on.target().handle, nullptr, r);
}

static core::status launch_marked(core::record& r, const use_of& on) {
    core::trace::launch mark(r, reinterpret_cast<std::uint64_t>(on.target().handle),
                             core::name_of_type(*r.type, r.payload));
    const core::status s = launch_on_use(r, on);
    if (s.ok()) mark.accept();
    return s;
}

// The driver is to be loaded, or somebody watches, or the launch is to be refused.
[[gnu::noinline, gnu::cold]] static void launch_slow(core::record& r, stream_ref stream) {
    enter_slow(r);
    const use_of on(stream);
    core::status s = on.status();
    if (s.ok()) s = core::trace::is_on() ? launch_marked(r, on) : launch_on_use(r, on);
    if (!s.ok()) give_up(r, s);
}

// Apart, so that neither way saves registers for the other.
[[gnu::noinline]] static void launch_foreign(core::record& r, stream_ref stream) {
    if (stream.is_empty()) [[unlikely]]
        give_up(r, core::refuse_closed("stream"));
    if (!core::on_fast_path()) [[unlikely]]
        return launch_slow(r, stream);
    const core::status s = core::launch_on(raw(stream), nullptr, r);
    if (!s.ok()) [[unlikely]]
        give_up(r, s);
}

void launch(core::record* r, stream_ref stream, const task_type& type) {
    r->type = &type;
    core::stream* owner = stream.owner();
    if (owner == nullptr) return launch_foreign(*r, stream);
    if (!core::on_fast_path()) [[unlikely]]
        return launch_slow(*r, stream);
    if (!owner->guard().enter()) [[unlikely]]
        give_up(*r, core::refuse_closed("stream"));
    const core::status s = core::launch_on(*owner, *r);
    if (!s.ok()) [[unlikely]]
        leave_and_give_up(*owner, *r, s);
    owner->guard().leave();
}

void run_borrowed(void (*call)(void*), void* fn) {
    if (!core::gate().enter()) return;
    core::run_guarded([&] {
        call(fn);
        return outcome::ran;
    });
    core::gate().leave();
    core::end_in_forked_child();
}

void launch_borrowed(stream_ref stream, void (*trampoline)(void*), void* fn) {
    require_launches(attempted);
    launch_bare(stream, {trampoline, fn});
}

}  // namespace detail

void host_launch(stream_ref stream, void (*fn)(void*), void* user_data) {
    if (fn == nullptr) detail::refuse_null();
    require_launches(attempted);
    launch_bare(stream, {fn, user_data});
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
    r->type = &copy_type;
    ::new (r->payload) void*(copy);
    const use_of on(stream);
    core::status s = on.status();
    if (s.ok()) s = core::native.launch(on.target(), *r, {fn, copy});
    if (s.ok()) return;
    core::discard(*r);
    throw core::to_error(s, attempted);
}

}  // namespace hostlaunch
