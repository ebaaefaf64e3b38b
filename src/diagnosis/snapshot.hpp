// SPDX-License-Identifier: Apache-2.0
// Looking at the process in a copy of it, where nothing moves and a crash harms nobody.
//
// Other threads' Python stacks can be read without the GIL, but they change while they are read,
// which has crashed CPython. In a child made by a bare clone no other thread exists: all is as it
// was at one moment. The child runs no fork handler, gets no signal but for a crash, sends none
// when it ends, and is not seen by a wait of the program for its children. It may call what is
// safe in a signal's handler, and nothing else.
#pragma once

#include <chrono>

namespace hostlaunch::diagnosis {

enum class snapshot_end { told, crashed, took_too_long, no_copy };

// Calls tell(file) in a copy and waits for that, bounded.
snapshot_end in_snapshot(void (*tell)(int file), int file,
                         std::chrono::milliseconds limit) noexcept;

}  // namespace hostlaunch::diagnosis
