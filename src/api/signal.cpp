// SPDX-License-Identifier: Apache-2.0
// submit and work_done for C++: the parts that are no templates.
#include "core/routes/signal.hpp"

#include <cxxabi.h>

#include <new>
#include <system_error>

#include "api/convert.hpp"
#include "core/process/gate.hpp"
#include "core/routes/worker_pool.hpp"
#include "core/task/release.hpp"
#include "core/task/unhandled.hpp"
#include "hostlaunch/detail/signal.hpp"

namespace hostlaunch {
namespace {

// The pool with a thread, and with room that a launch uses up.
core::worker_pool& prepare_pool(const char* attempted) {
    core::throw_if_failed(core::enter_for_launch(), attempted);
    core::worker_pool& pool = core::worker_pool::common();
    if (!pool.start()) {
        throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again),
                                attempted);
    }
    if (!pool.reserve()) throw std::bad_alloc();
    return pool;
}

core::status enqueue(core::record& r, stream_ref stream, core::worker_pool& pool) noexcept {
    const use_of on(stream);
    if (on.status().ok()) return core::launch_signal(on.target(), r, pool);
    pool.give_back();
    return on.status();
}

}  // namespace

void detail::signal(core::record* r, stream_ref stream, const signal_type& type,
                    const char* attempted) {
    r->type = &type.task;
    core::status s;
    try {
        core::worker_pool& pool = prepare_pool(attempted);
        // A coroutine that goes on meanwhile may destroy the stream.
        const std::shared_ptr<core::stream> kept =
            stream.owner() == nullptr ? nullptr : stream.owner()->shared_from_this();
        s = enqueue(*r, stream, pool);
    } catch (...) {
        core::discard(*r);
        throw;
    }
    if (s.ok()) return;
    core::discard(*r);
    core::throw_error(s, attempted);
}

std::exception_ptr detail::catch_from(void (*call)(void*), void* storage) {
    try {
        call(storage);
        return nullptr;
    } catch (::abi::__forced_unwind&) {
        core::park();
    } catch (...) {
        return std::current_exception();
    }
}

std::exception_ptr detail::failure(int code) {
    return std::make_exception_ptr(core::to_error(
        {code, nullptr}, "the context of the stream failed before the stream got there"));
}

// Noexcept for the caller, so nothing may unwind through it.
void detail::resume(void (*resume)(void*), void* coroutine) noexcept {
    try {
        resume(coroutine);
    } catch (::abi::__forced_unwind&) {
        core::park();
    } catch (...) {
        core::report_unhandled(std::current_exception());
    }
}

}  // namespace hostlaunch
