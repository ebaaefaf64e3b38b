// SPDX-License-Identifier: Apache-2.0
// A Ctrl-C that ends up inside a finalizer, where Python would only print it.
#pragma once

#include "cpython/python.hpp"

namespace hostlaunch::python {

// While it lives, a KeyboardInterrupt that leaves a finalizer on the thread that made it is noted
// instead of told by sys.unraisablehook. One at a time; a second one, nested, does nothing.
// requires: attached.
class interrupt_catcher {
  public:
    interrupt_catcher() noexcept = default;
    ~interrupt_catcher() { remove(); }
    interrupt_catcher(const interrupt_catcher&) = delete;
    interrupt_catcher& operator=(const interrupt_catcher&) = delete;

    void install() noexcept;
    void remove() noexcept;

    // True once for a Ctrl-C that came since: noted, or not yet handled. Runs no handler.
    static bool take() noexcept;

  private:
    bool installed_ = false;
};

// Prepares the hook. Called once at import; false with an exception set.
bool init_lost_interrupt();

}  // namespace hostlaunch::python
