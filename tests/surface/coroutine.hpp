// SPDX-License-Identifier: Apache-2.0
// A coroutine that nobody waits for, for any compiler that has coroutines.
#pragma once

#if defined(__cpp_impl_coroutine)
#include <coroutine>
#else
#include <experimental/coroutine>
#endif

namespace hostlaunch::test {

#if defined(__cpp_impl_coroutine)
namespace coroutines = std;
#else
namespace coroutines = std::experimental;
#endif

struct detached_task {
    struct promise_type {
        detached_task get_return_object() const noexcept { return {}; }
        coroutines::suspend_never initial_suspend() const noexcept { return {}; }
        coroutines::suspend_never final_suspend() const noexcept { return {}; }
        void return_void() const noexcept {}
        [[noreturn]] void unhandled_exception() const { throw; }
    };
};

}  // namespace hostlaunch::test
