// SPDX-License-Identifier: Apache-2.0
// Which thread CPython itself takes for the main one.
#pragma once

namespace hostlaunch::python {

// True on the thread that runs pending calls, in the main interpreter. Asked of the runtime, since
// the module threading can be patched (gevent), and calls the thread that imports it first the main
// one. In the child of a fork it is the thread that forked. requires: attached.
bool on_main_thread() noexcept;

// True in the interpreter that owns the payloads and thread states (contract X4). requires:
// attached.
bool in_main_interpreter() noexcept;

}  // namespace hostlaunch::python
