// SPDX-License-Identifier: Apache-2.0
// submit: run a function once the stream gets there, and keep what it returns.
//
// The function starts once all work enqueued on the stream before the call has completed, on a
// thread of the library's pool (HOSTLAUNCH_WORKERS of them, 4 if unset), with the stream's context
// current. The stream goes on at once. The function may call CUDA, block, and call this library.
// Functions of one stream start in stream order; several may run at the same time.
#pragma once

#include <functional>
#include <future>
#include <tuple>
#include <type_traits>
#include <utility>

#include "hostlaunch/detail/signal.hpp"
#include "hostlaunch/stream.hpp"

namespace hostlaunch {
namespace detail {

template <class R, class F, class... Args>
struct promised_call {
    std::promise<R> promise;
    F fn;
    [[no_unique_address]] std::tuple<Args...> args;

    void operator()() {
        std::apply(
            [this](Args&... given) {
                if constexpr (std::is_void_v<R>) {
                    std::invoke(std::move(fn), std::move(given)...);
                    promise.set_value();
                } else {
                    promise.set_value(std::invoke(std::move(fn), std::move(given)...));
                }
            },
            args);
    }
};

template <class R, class F, class... Args>
struct promised_closure : closure<promised_call<R, F, Args...>> {
    using base = closure<promised_call<R, F, Args...>>;

    static void call(void* storage) { base::get(storage).fn(); }

    static outcome run(void* storage) {
        std::exception_ptr thrown = catch_from(&call, storage);
        if (thrown == nullptr) return outcome::ran;
        base::get(storage).fn.promise.set_exception(std::move(thrown));
        return outcome::raised;
    }
    static outcome fail(void* storage, int code) {
        base::get(storage).fn.promise.set_exception(failure(code));
        return outcome::abandoned;
    }
    static constexpr signal_type type{{&run, &base::destroy, "submitted callable"}, &fail};
};

}  // namespace detail

// Any callable, move-only included, with decay-copied arguments: runs
// std::invoke(std::move(fn), std::move(args)...). They are destroyed on a thread of the library
// after they have run. The future gets what the callable returned or threw, or `error` with the
// driver's code if the context of the stream failed first. What has not started when the process
// exits never does, and the future stays as it is.
//
// Throws as host_launch does, and std::system_error if there is no thread to be had. Then nothing
// was enqueued and what was passed has been destroyed.
template <class F, class... Args>
    requires std::invocable<std::decay_t<F>, std::decay_t<Args>...>
[[nodiscard]] auto submit(stream_ref stream, F&& fn, Args&&... args)
    -> std::future<std::invoke_result_t<std::decay_t<F>, std::decay_t<Args>...>> {
    using result = std::invoke_result_t<std::decay_t<F>, std::decay_t<Args>...>;
    using call = detail::promised_call<result, std::decay_t<F>, std::decay_t<Args>...>;
    using closure = detail::promised_closure<result, std::decay_t<F>, std::decay_t<Args>...>;
    constexpr const char* attempted = "submit";
    std::promise<result> promise;
    std::future<result> future = promise.get_future();
    core::record* const record = detail::acquire();
    try {
        closure::construct(detail::storage_of(record),
                           call{std::move(promise), std::decay_t<F>(std::forward<F>(fn)),
                                std::tuple<std::decay_t<Args>...>(std::forward<Args>(args)...)});
    } catch (...) {
        detail::give_back(record);
        throw;
    }
    detail::signal(record, stream, closure::type, attempted);
    return future;
}

}  // namespace hostlaunch
