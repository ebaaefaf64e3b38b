// SPDX-License-Identifier: Apache-2.0
// What people write where there is no library.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "bare.h"
#include "figures.hpp"

namespace hostlaunch::bench {

// What people write by hand: the callable on the heap, a trampoline that deletes it.
// It does not ask whether the stream captures, unless it launches by bare_launch_checked.
template <class F>
void launch_by_hand(CUstream_st* stream, F&& fn, decltype(bare_launch)* launch = bare_launch) {
    using callable = std::decay_t<F>;
    auto owned = std::make_unique<callable>(std::forward<F>(fn));
    const auto trampoline = [](void* data) {
        const std::unique_ptr<callable> held(static_cast<callable*>(data));
        (*held)();
    };
    require(launch(stream, trampoline, owned.get()), "cuLaunchHostFunc");
    (void)owned.release();
}

// The way of libraries that want to hear of errors: cuStreamAddCallback with an owned callable.
template <class F>
void add_callback(CUstream_st* stream, F&& fn) {
    using callable = std::decay_t<F>;
    auto owned = std::make_unique<callable>(std::forward<F>(fn));
    const auto trampoline = [](CUstream_st*, int, void* data) {
        const std::unique_ptr<callable> held(static_cast<callable*>(data));
        (*held)();
    };
    require(bare_add_callback(stream, trampoline, owned.get()), "cuStreamAddCallback");
    (void)owned.release();
}

}  // namespace hostlaunch::bench
