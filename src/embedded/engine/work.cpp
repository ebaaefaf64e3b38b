// SPDX-License-Identifier: Apache-2.0
// Moves the bytes of copies and fills, and tells which bytes an operation touches.
#include "embedded/engine/work.hpp"

#include <cstring>

namespace hostlaunch::embedded {

namespace {

// Sizes are callers' numbers: what does not fit is as much as there can be, and so in no
// allocation.
std::size_t times(std::size_t a, std::size_t b) {
    std::size_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}

std::size_t plus(std::size_t a, std::size_t b) {
    std::size_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? SIZE_MAX : sum;
}

// Overlapping ranges of one row are moved as if through a buffer; rows go one after the other.
void copy(const work::copy_work& w) {
    auto* to = static_cast<unsigned char*>(w.dst);
    const auto* from = static_cast<const unsigned char*>(w.src);
    for (std::size_t z = 0; z < w.slices; ++z) {
        for (std::size_t y = 0; y < w.rows; ++y) {
            std::memmove(to + z * w.to.slice + y * w.to.row,
                         from + z * w.from.slice + y * w.from.row, w.bytes);
        }
    }
}

void fill_row(unsigned char* to, const work::fill_work& w) {
    if (w.width == 1) {
        std::memset(to, static_cast<int>(w.value), w.count);
        return;
    }
    // The low bytes of the value, as this machine orders them.
    for (std::size_t i = 0; i < w.count; ++i) {
        std::memcpy(to + i * w.width, &w.value, w.width);
    }
}

bool overlap(const void* at, std::size_t size, std::uintptr_t first, std::size_t bytes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(at);
    return begin < first + bytes && first < begin + size;
}

}  // namespace

void move_bytes(const work& w) {
    if (bytes_of(w) == 0) {
        return;  // the addresses may be null
    }
    if (w.kind == work_kind::copy) {
        copy(w.copy);
        return;
    }
    for (std::size_t y = 0; y < w.fill.rows; ++y) {
        fill_row(static_cast<unsigned char*>(w.fill.dst) + y * w.fill.pitch, w.fill);
    }
}

std::size_t bytes_of(const work& w) {
    return w.kind == work_kind::copy ? times(times(w.copy.bytes, w.copy.rows), w.copy.slices)
                                     : times(w.fill.count * w.fill.width, w.fill.rows);
}

std::size_t span_of(const work::copy_work& w, const work::steps& step) {
    const bool none = w.bytes == 0 || w.rows == 0 || w.slices == 0;
    return none ? 0
                : plus(plus(times(w.slices - 1, step.slice), times(w.rows - 1, step.row)), w.bytes);
}

std::size_t span_of(const work::fill_work& w) {
    const bool none = w.count == 0 || w.rows == 0;
    return none ? 0 : plus(times(w.rows - 1, w.pitch), times(w.count, w.width));
}

bool touches(const work& w, std::uintptr_t first, std::size_t bytes) {
    switch (w.kind) {
        case work_kind::copy:
            return overlap(w.copy.dst, span_of(w.copy, w.copy.to), first, bytes) ||
                   overlap(w.copy.src, span_of(w.copy, w.copy.from), first, bytes);
        case work_kind::fill:
            return overlap(w.fill.dst, span_of(w.fill), first, bytes);
        case work_kind::wait_value:
        case work_kind::write_value:
            return overlap(w.value.address, w.value.width, first, bytes);
        default:
            return false;
    }
}

}  // namespace hostlaunch::embedded
