// SPDX-License-Identifier: Apache-2.0
// Between what calls are given and what the engine does: copies, fills and values in memory.
#pragma once

#include <optional>

#include "embedded/engine/memory.hpp"

namespace hostlaunch::embedded {

template <class T>
void* as_pointer(T address) {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

// Whether no edge carries data, as none can here.
bool are_plain(const void* edges, std::size_t count);

// A copy, and whether its ends must be memory that was allocated.
struct copy_arguments {
    work what;
    place to;
    place from;
};

copy_arguments copy_of(void* dst, place to, const void* src, place from, std::size_t bytes);
// Nothing if the parameters contradict each other, or name an array.
std::optional<copy_arguments> copy_of(const copy_params& params);
std::optional<copy_arguments> copy_of(const flat_copy_params& params);
copy_params params_of(const work::copy_work& what);

// A row of elements, or several.
work fill_of(device_ptr dst, std::uint32_t value, unsigned element_bytes, std::size_t width);
work fill_of(const fill_params& params);
fill_params params_of(const work::fill_work& what);

// SUCCESS, or why these cannot be a batch. requires the driver's mutex
result check_values(const value_params* values, std::size_t count);

// Whether the bytes are there that it would touch. requires the driver's mutex
bool is_valid(const copy_arguments& copy);
bool is_valid(const work::fill_work& fill);

}  // namespace hostlaunch::embedded
