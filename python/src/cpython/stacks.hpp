// SPDX-License-Identifier: Apache-2.0
// Who holds the GIL, and the stacks of all Python threads, told without the GIL.
//
// Nothing of that is safe while the interpreter runs, so it is done in a copy of the process, where
// no other thread exists (see diagnosis/snapshot.hpp). The stacks are written by the standard
// library's faulthandler, by way of a signal's handler: it is taken from the signal at once and
// called in the copy only.
#pragma once

#include "cpython/python.hpp"

namespace hostlaunch::python {

// Gets faulthandler to write to this file descriptor when tell_threads asks. requires: attached.
// False with an exception set.
bool prepare_stacks(int file);

// In the copy: writes who holds the GIL, as far as this version of Python lets that be seen, then
// the stacks if they were prepared. Takes no lock and allocates nothing.
void tell_threads(int file);

}  // namespace hostlaunch::python
