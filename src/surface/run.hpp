// SPDX-License-Identifier: Apache-2.0
// Running a user's callable on the driver's thread.
#pragma once

#include <cxxabi.h>

#include <exception>

#include "core/gate.hpp"
#include "core/process.hpp"
#include "core/record.hpp"
#include "surface/unhandled.hpp"

namespace hostlaunch {

// Nothing leaves: exceptions go to the handler, and a thread that is being unwound by force (by an
// interpreter that ended, say) parks.
template <class Call>
core::state run_guarded(Call&& call) {
    const core::host_function_scope inside;
    try {
        call();
        return core::state::ran;
    } catch (::abi::__forced_unwind&) {
        core::park();
    } catch (...) {
        report_unhandled(std::current_exception());
        return core::state::raised;
    }
}

}  // namespace hostlaunch
