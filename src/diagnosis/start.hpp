// SPDX-License-Identifier: Apache-2.0
// What the environment asks for begins once a driver is loaded: no thread starts in programs that
// do not use the library, and a child that was forked before has its own.
#pragma once

namespace hostlaunch::diagnosis {

// Once for each language, before the driver is loaded.
void start_when_loaded() noexcept;

}  // namespace hostlaunch::diagnosis
