// SPDX-License-Identifier: Apache-2.0
// The unhandled-exception handler and its default.
#include "surface/unhandled.hpp"

#include <atomic>
#include <cstdio>
#include <utility>

#include "hostlaunch/error.hpp"

namespace hostlaunch {
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

unhandled_exception_handler set_unhandled_exception_handler(
    unhandled_exception_handler handler) noexcept {
    return current.exchange(handler != nullptr ? handler : &print);
}

void report_unhandled(std::exception_ptr exception) noexcept {
    current.load()(std::move(exception));
}

}  // namespace hostlaunch
