// SPDX-License-Identifier: Apache-2.0
// What reports want to know of a launch and records have no room for, found by its token: its name,
// if it was launched while somebody watched, and the stream of native code.
//
// A side table that takes memory where it is used. Lock-free; a note is right for the launch that
// it was made for and tells of no other.
#pragma once

#include <cstdint>

#include "core/task/names.hpp"

namespace hostlaunch::core {

// Before the driver gets the token. Without memory there is no note.
void note_name(std::uint64_t of, name_id name) noexcept;
void note_stream(std::uint64_t of, std::uint64_t stream) noexcept;

struct task_note {
    name_id name = no_name;
    std::uint64_t stream = 0;
};
task_note note_of(std::uint64_t of) noexcept;

}  // namespace hostlaunch::core
