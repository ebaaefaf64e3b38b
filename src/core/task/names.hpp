// SPDX-License-Identifier: Apache-2.0
// The names of functions, each kept once and found again by a small number.
//
// Numbers and texts live as long as the process, so that traces and reports may refer to a function
// that is gone. Their count is bounded: a program that makes up names without end gets one that
// says so. Any thread; `intern` takes a lock that nothing is called under, `text_of` takes none.
#pragma once

#include <cstdint>
#include <string_view>

#include "hostlaunch/detail/task_type.hpp"

namespace hostlaunch::core {

using name_id = std::uint32_t;
inline constexpr name_id no_name = 0;

// The number of a name, the same for the same text. Long texts are cut.
name_id intern(std::string_view text) noexcept;

// What a task is called by its own or its type's name, without the dressing of a C++ type.
name_id name_of_type(const hostlaunch::detail::task_type& type, void* payload) noexcept;

// Ends with a zero byte; "a function" for no_name. requires: the number is from intern.
const char* text_of(name_id id) noexcept;

}  // namespace hostlaunch::core
