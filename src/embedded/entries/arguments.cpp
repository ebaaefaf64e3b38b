// SPDX-License-Identifier: Apache-2.0
// Turns parameters of calls into work, and back.
#include "embedded/entries/arguments.hpp"

#include <algorithm>
#include <cstring>

#include "embedded/engine/memory.hpp"
#include "embedded/engine/poller.hpp"

namespace hostlaunch::embedded {

namespace {

// Flags of waits (CUstreamWaitValue_flags); a write takes none.
constexpr unsigned wait_conditions = 3;
constexpr unsigned wait_flush = 1u << 30;

struct end_of_copy {
    unsigned char* first;
    place where;
    work::steps step;
};

std::optional<end_of_copy> resolve(const copy_end& end, const copy_params& params) {
    if (end.type < memory_type::host || end.type == memory_type::array ||
        end.type > memory_type::unified) {
        return std::nullopt;
    }
    const bool on_host = end.type == memory_type::host;
    auto* const base = static_cast<unsigned char*>(on_host ? end.host : as_pointer(end.address));
    const std::size_t pitch = end.pitch != 0 ? end.pitch : end.x_bytes + params.width;
    const std::size_t height = end.height != 0 ? end.height : end.y + params.height;
    if (pitch < params.width || (params.depth > 1 && height < params.height)) {
        return std::nullopt;
    }
    const work::steps step{pitch, pitch * height};
    return end_of_copy{base + end.z * step.slice + end.y * step.row + end.x_bytes,
                       end.type == memory_type::device ? place::ours : place::anywhere, step};
}

copy_end widen(const flat_copy_end& end) {
    copy_end wide{};
    wide.x_bytes = end.x_bytes;
    wide.y = end.y;
    wide.type = end.type;
    wide.host = end.host;
    wide.address = end.address;
    wide.array = end.array;
    wide.pitch = end.pitch;
    return wide;
}

// requires the driver's mutex
copy_end end_at(const void* first, const work::steps& step, std::size_t rows) {
    copy_end end{};
    end.type = is_on_host(first) ? memory_type::host : memory_type::device;
    end.host = end.type == memory_type::host ? const_cast<void*>(first) : nullptr;
    end.address = end.type == memory_type::host ? 0 : reinterpret_cast<std::uintptr_t>(first);
    end.pitch = step.row;
    end.height = step.row != 0 ? std::max(rows, step.slice / step.row) : rows;
    return end;
}

result check_value(const value_params& v) {
    if (v.operation == value_operation::barrier) {
        return success;
    }
    if (v.operation == value_operation::flush_remote_writes) {
        return error_not_supported;
    }
    if (!is_value(v)) {
        return error_invalid_value;
    }
    const work w = value_of(v);
    const bool waits = w.kind == work_kind::wait_value;
    if (waits && (v.flags & wait_flush) != 0) {
        return error_not_supported;  // as the device's attributes say
    }
    const unsigned known = waits ? wait_conditions : 0;
    const bool valid = (v.flags & ~known) == 0 && v.address % w.value.width == 0 &&
                       is_range(w.value.address, w.value.width, place::ours);
    return valid ? success : error_invalid_value;
}

}  // namespace

bool are_plain(const void* edges, std::size_t count) {
    constexpr edge_data plain{};
    const auto* given = static_cast<const edge_data*>(edges);
    return given == nullptr || std::all_of(given, given + count, [&](const edge_data& e) {
               return std::memcmp(&e, &plain, sizeof e) == 0;
           });
}

copy_arguments copy_of(void* dst, place to, const void* src, place from, std::size_t bytes) {
    work w{};
    w.kind = work_kind::copy;
    w.copy = {dst, src, bytes, nullptr, 1, 1, {}, {}};
    return {w, to, from};
}

std::optional<copy_arguments> copy_of(const copy_params& params) {
    const auto to = resolve(params.to, params);
    const auto from = resolve(params.from, params);
    if (!to || !from) {
        return std::nullopt;
    }
    work w{};
    w.kind = work_kind::copy;
    w.copy = {to->first,     from->first,  params.width, nullptr,
              params.height, params.depth, to->step,     from->step};
    return copy_arguments{w, to->where, from->where};
}

std::optional<copy_arguments> copy_of(const flat_copy_params& params) {
    return copy_of(
        copy_params{widen(params.from), widen(params.to), params.width, params.height, 1});
}

copy_params params_of(const work::copy_work& what) {
    return {end_at(what.src, what.from, what.rows), end_at(what.dst, what.to, what.rows),
            what.bytes, what.rows, what.slices};
}

work fill_of(device_ptr dst, std::uint32_t value, unsigned element_bytes, std::size_t width) {
    return fill_of(fill_params{dst, 0, value, element_bytes, width, 1});
}

work fill_of(const fill_params& params) {
    work w{};
    w.kind = work_kind::fill;
    w.fill = {as_pointer(params.dst), params.width,  params.value,
              params.element_bytes,   params.height, params.pitch};
    return w;
}

fill_params params_of(const work::fill_work& what) {
    return {reinterpret_cast<std::uintptr_t>(what.dst),
            what.pitch,
            what.value,
            what.width,
            what.count,
            what.rows};
}

result check_values(const value_params* values, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        if (const result wrong = check_value(values[i]); wrong != success) {
            return wrong;
        }
    }
    return success;
}

bool is_valid(const copy_arguments& copy) {
    const work::copy_work& w = copy.what.copy;
    const std::size_t to = span_of(w, w.to);
    return to == 0 ||
           (is_range(w.dst, to, copy.to) && is_range(w.src, span_of(w, w.from), copy.from));
}

bool is_valid(const work::fill_work& fill) {
    const bool known = fill.width == 1 || fill.width == 2 || fill.width == 4;
    if (!known || fill.count > SIZE_MAX / fill.width) {
        return false;
    }
    const std::size_t bytes = span_of(fill);
    return bytes == 0 || (reinterpret_cast<std::uintptr_t>(fill.dst) % fill.width == 0 &&
                          (fill.rows == 1 || fill.pitch >= fill.count * fill.width) &&
                          is_range(fill.dst, bytes, place::ours));
}

}  // namespace hostlaunch::embedded
