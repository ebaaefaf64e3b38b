// SPDX-License-Identifier: Apache-2.0
// The unhandled-exception handler and its default.
#include "core/task/unhandled.hpp"

#include <atomic>
#include <cstdio>
#include <utility>

namespace hostlaunch::core {
namespace {

// One line on stderr.
void print(std::exception_ptr exception) noexcept {
    try {
        std::rethrow_exception(std::move(exception));
    } catch (const std::exception& e) {
        std::fprintf(stderr, "hostlaunch: an exception left a host function: %s\n", e.what());
    } catch (...) {
        std::fputs("hostlaunch: an exception of unknown type left a host function\n", stderr);
    }
}

std::atomic<unhandled_exception_handler> current{&print};

}  // namespace

unhandled_exception_handler exchange_unhandled_handler(unhandled_exception_handler h) noexcept {
    return current.exchange(h != nullptr ? h : &print);
}

void report_unhandled(std::exception_ptr exception) noexcept {
    current.load()(std::move(exception));
}

}  // namespace hostlaunch::core
