// SPDX-License-Identifier: Apache-2.0
// The types of tasks that their stream does not wait for: a task_type and what a pool needs
// besides.
#pragma once

#include "core/task/record.hpp"
#include "hostlaunch/detail/signal_type.hpp"

namespace hostlaunch::core {

using hostlaunch::detail::signal_type;

// requires: the record's type is part of one.
inline const signal_type& signal_type_of(const record& r) noexcept {
    return *reinterpret_cast<const signal_type*>(r.type);
}

}  // namespace hostlaunch::core
