// SPDX-License-Identifier: Apache-2.0
// The names of entry points: what knobs and counters are found by.
#pragma once

#include "embedded/entry_points.hpp"

namespace hostlaunch::embedded {

// The name without the ABI's number, as users know it.
const char* base_name_of(entry_id id);

// The first entry with the same base name: what knobs are indexed by.
entry_id base_of(entry_id id);

// Accepts base names and exported symbols; entry_id::count if there is none.
entry_id find_base(const char* name);

}  // namespace hostlaunch::embedded
