// SPDX-License-Identifier: Apache-2.0
// A hook of the driver's loading.
#include "diagnosis/start.hpp"

#include "core/lifecycle.hpp"
#include "diagnosis/nvtx.hpp"
#include "diagnosis/watchdog.hpp"

namespace hostlaunch::diagnosis {
namespace {

void start() noexcept {
    start_nvtx();
    start_watchdog_from_environment();
}

}  // namespace

void start_when_loaded() noexcept {
    core::on_loaded(&start);
}

}  // namespace hostlaunch::diagnosis
