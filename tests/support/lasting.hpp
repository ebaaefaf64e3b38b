// SPDX-License-Identifier: Apache-2.0
// For programs whose process ends in unusual ways: objects that outlive it, and children of fork.
#pragma once

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <utility>

namespace hostlaunch::test {

// An object that is never destroyed and stays reachable, so that it is no leak. At most 16 of a
// type. On any thread.
template <class T, class... Args>
T& lasting(Args&&... args) {
    static std::array<T*, 16> made{};
    static std::atomic<std::size_t> count = 0;
    return *(made.at(count++) = new T(std::forward<Args>(args)...));
}

inline bool is_forked_child = false;

// fork for a process with threads. The child has 40 seconds, and is not searched for leaks: leak
// checkers wait for the threads of the parent, which do not exist there.
inline pid_t fork_with_limit() {
    const pid_t child = fork();
    if (child == 0) {
        is_forked_child = true;
        alarm(40);
    }
    return child;
}

}  // namespace hostlaunch::test

#ifdef __SANITIZE_ADDRESS__
extern "C" inline __attribute__((used, visibility("default"))) int __lsan_is_turned_off() {
    return hostlaunch::test::is_forked_child ? 1 : 0;
}
#endif
