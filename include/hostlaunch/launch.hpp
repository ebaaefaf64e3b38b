// SPDX-License-Identifier: Apache-2.0
// host_launch: enqueue a host function on a CUDA stream, in stream order.
//
// The function runs once all work enqueued on the stream before the call has completed; work
// enqueued afterwards waits until it returns. It runs on a thread that the driver owns, at most
// once per call. It may never run: after an error of its context, or if the process exits first. It
// must not call CUDA. The call only enqueues and may come from any thread; wait with stream::sync
// or an event.
//
// All overloads throw hostlaunch::error: misuse::closed; misuse::capturing for a stream that
// captures a graph; misuse::no_context for a default stream while no context is current;
// misuse::in_host_function, forked and exiting for where the caller is; misuse::driver_unavailable
// without a usable driver; else the code with which the driver refused. Those that keep something
// throw std::bad_alloc too, and what copying fn and the arguments throws. A null function pointer
// and an empty std::function are CUDA_ERROR_INVALID_VALUE. Then nothing was enqueued and what was
// passed has been destroyed.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "hostlaunch/detail/closure.hpp"
#include "hostlaunch/stream.hpp"

namespace hostlaunch {

// Any callable, move-only included, with decay-copied arguments: runs
// std::invoke(std::move(fn), std::move(args)...) and ignores the result. Callables and arguments of
// up to 64 bytes together need no allocation. They are destroyed once, on a thread of the library
// within 50 ms of having run (on the driver's thread only if destruction is trivial); what has not
// run when the process exits is neither run nor destroyed. An exception that leaves the callable
// goes to the unhandled-exception handler (error.hpp).
template <class F, class... Args>
    requires detail::launchable<F, Args...>
void host_launch(stream_ref stream, F&& fn, Args&&... args) {
    using closure = detail::closure<std::decay_t<F>, std::decay_t<Args>...>;
    core::record* const record = detail::acquire();
    try {
        closure::construct(detail::storage_of(record), std::forward<F>(fn),
                           std::forward<Args>(args)...);
    } catch (...) {
        detail::give_back(record);
        throw;
    }
    detail::launch(record, stream, closure::type);
}

// As is: the driver gets this address and this pointer, untracked and not counted. The caller keeps
// *user_data valid until fn has run. fn must not throw.
HOSTLAUNCH_API void host_launch(stream_ref stream, void (*fn)(void*), void* user_data);

// As is with a copy of user_data, aligned to 64 bytes (empty: a null pointer), which lives until fn
// has run; an event recorded behind it tells when. fn must not throw.
HOSTLAUNCH_API void host_launch(stream_ref stream, void (*fn)(void*),
                                std::span<const std::byte> user_data);

// Borrowed: runs fn.get()() without owning or allocating anything; untracked and not counted. The
// caller keeps the callable alive until it has run, or for ever if it might not.
template <class F>
    requires std::invocable<F&>
void host_launch(stream_ref stream, std::reference_wrapper<F> fn) {
    using borrowed = detail::borrowed<F>;
    if constexpr (std::is_pointer_v<F>) {
        if (fn.get() == nullptr) detail::refuse_null();
    }
    detail::launch_borrowed(stream, &borrowed::trampoline, borrowed::address(fn.get()));
}

template <class F, class... Args>
    requires detail::refused<F, Args...>
error_the_callable_cannot_be_copied_or_called_with_copies_of_these_arguments host_launch(
    stream_ref, F&&, Args&&...) = delete;

}  // namespace hostlaunch
