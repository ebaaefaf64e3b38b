// SPDX-License-Identifier: Apache-2.0
// work_done: await the work of a stream in a coroutine.
//
//     co_await hostlaunch::work_done(stream);
//
// The coroutine is resumed on a thread of the library's pool once all work enqueued on the stream
// before the co_await has completed, with no context current that it may rely on. It may call CUDA
// and block there. The co_await throws as host_launch does, std::system_error if there is no thread
// to be had, and `error` with the driver's code if the context of the stream failed first. A
// coroutine whose stream has not got there when the process exits is never resumed.
#pragma once

#include <exception>
#include <new>
#include <utility>

#include "hostlaunch/detail/signal.hpp"
#include "hostlaunch/stream.hpp"

namespace hostlaunch {

// What work_done returns. Needs no <coroutine>: any compiler's coroutines take it.
class work_done_awaitable {
  public:
    explicit work_done_awaitable(stream_ref stream) noexcept : stream_(stream) {}

    bool await_ready() const noexcept { return false; }

    template <class Handle>
    void await_suspend(Handle coroutine) {
        coroutine_ = coroutine.address();
        resume_ = [](void* address) { Handle::from_address(address).resume(); };
        core::record* const record = detail::acquire();
        ::new (detail::storage_of(record)) work_done_awaitable*(this);
        // The coroutine may go on, and end, before this returns: nothing of it is touched after.
        detail::signal(record, stream_, type, "work_done");
    }

    void await_resume() const {
        if (failure_) std::rethrow_exception(failure_);
    }

  private:
    static work_done_awaitable& get(void* storage) noexcept {
        return **std::launder(static_cast<work_done_awaitable**>(storage));
    }
    static detail::outcome run(void* storage) {
        const work_done_awaitable& awaited = get(storage);
        detail::resume(awaited.resume_, awaited.coroutine_);
        return detail::outcome::ran;
    }
    static detail::outcome fail(void* storage, int code) {
        work_done_awaitable& awaited = get(storage);
        awaited.failure_ = detail::failure(code);
        detail::resume(awaited.resume_, awaited.coroutine_);
        return detail::outcome::abandoned;
    }
    // Nothing to destroy: the coroutine owns what is awaited, and may be gone.
    static constexpr detail::signal_type type{{&run, nullptr, "coroutine"}, &fail};

    stream_ref stream_;
    void* coroutine_ = nullptr;
    void (*resume_)(void*) = nullptr;
    std::exception_ptr failure_;
};

[[nodiscard]] inline work_done_awaitable work_done(stream_ref stream) noexcept {
    return work_done_awaitable(stream);
}

}  // namespace hostlaunch
