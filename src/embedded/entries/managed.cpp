// SPDX-License-Identifier: Apache-2.0
// Entry points about managed memory, which is plain memory here: it never moves.
#include <algorithm>

#include "embedded/engine/capture.hpp"
#include "embedded/engine/contexts.hpp"
#include "embedded/engine/memory.hpp"
#include "embedded/entries/arguments.hpp"
#include "embedded/entries/calls.hpp"

namespace hostlaunch::embedded {

namespace {

constexpr unsigned attach_global = 1;  // CUmemAttach_flags
constexpr unsigned attach_host = 2;
constexpr unsigned attach_single = 4;

bool is_managed_range(device_ptr first, std::size_t bytes) {
    std::uintptr_t begin = 0;
    const allocation* found = find_allocation(as_pointer(first), begin);
    return found != nullptr && found->kind == memory_kind::managed &&
           is_range(as_pointer(first), bytes, place::ours);
}

bool is_location(const memory_location& where) {
    const auto devices = static_cast<int>(the_driver().devices.size());
    return where.type == location_device
               ? where.id >= 0 && where.id < devices
               : where.type >= location_host && where.type <= location_host_numa_current;
}

result check_range(device_ptr first, std::size_t bytes) {
    const lock held(the_driver().mutex);
    return bytes != 0 && is_managed_range(first, bytes) ? success : error_invalid_value;
}

// In stream order nothing happens.
result prefetch(device_ptr first, std::size_t bytes, const memory_location& where, unsigned flags,
                stream s) {
    const lock held(the_driver().mutex);
    result why;
    stream_state* found = find_stream(s, why);
    if (found == nullptr) {
        return why;
    }
    if (flags != 0 || bytes == 0 || !is_location(where) || !is_managed_range(first, bytes)) {
        return where.type == location_device && !is_location(where) ? error_invalid_device
                                                                    : error_invalid_value;
    }
    return found->capture != nullptr ? refuse_wait(*found) : success;
}

result advise(device_ptr first, std::size_t bytes, int advice, const memory_location& where) {
    constexpr int first_advice = 1;
    constexpr int last_advice = 6;
    constexpr int about_a_place = 3;  // those before take no notice of the location
    const lock held(the_driver().mutex);
    if (advice < first_advice || advice > last_advice || bytes == 0 ||
        !is_managed_range(first, bytes)) {
        return error_invalid_value;
    }
    return advice >= about_a_place && !is_location(where) ? error_invalid_device : success;
}

memory_location location_of(device dev) {
    constexpr int cpu = -1;  // CU_DEVICE_CPU
    return dev == cpu ? memory_location{location_host, 0} : memory_location{location_device, dev};
}

// No advice is kept and nothing was prefetched: none, nowhere.
result tell_range(void* out, std::size_t bytes, int attribute) {
    constexpr int read_mostly = 1;
    constexpr int last = 8;
    constexpr int nowhere = -2;  // CU_DEVICE_INVALID
    if (out == nullptr || bytes == 0 || bytes % sizeof(int) != 0 || attribute < read_mostly ||
        attribute > last) {
        return error_invalid_value;
    }
    const bool is_type = attribute == 5 || attribute == 7;
    const int answer = attribute == read_mostly || is_type ? 0 : nowhere;
    std::fill_n(static_cast<int*>(out), bytes / sizeof(int), answer);
    return success;
}

}  // namespace

namespace calls {

result cuMemAllocManaged(device_ptr* out, std::size_t bytes, unsigned flags) {
    if (flags != attach_global && flags != attach_host) {
        return error_invalid_value;
    }
    void* memory = nullptr;
    const result answer =
        allocate(out == nullptr ? nullptr : &memory, bytes, memory_kind::managed, flags);
    if (answer == success && out != nullptr) {
        *out = reinterpret_cast<std::uintptr_t>(memory);
    }
    return answer;
}

result cuMemPrefetchAsync(device_ptr first, std::size_t bytes, device dev, stream s) {
    return prefetch(first, bytes, location_of(dev), 0, s);
}

result cuMemPrefetchAsync_v2(device_ptr first, std::size_t bytes, memory_location where,
                             unsigned flags, stream s) {
    return prefetch(first, bytes, where, flags, s);
}

result cuMemAdvise(device_ptr first, std::size_t bytes, int advice, device dev) {
    return advise(first, bytes, advice, location_of(dev));
}

result cuMemAdvise_v2(device_ptr first, std::size_t bytes, int advice, memory_location where) {
    return advise(first, bytes, advice, where);
}

result cuMemRangeGetAttribute(void* out, std::size_t out_bytes, int attribute, device_ptr first,
                              std::size_t bytes) {
    const result wrong = check_range(first, bytes);
    return wrong != success ? wrong : tell_range(out, out_bytes, attribute);
}

result cuMemRangeGetAttributes(void** out, std::size_t* out_bytes, int* attributes,
                               std::size_t count, device_ptr first, std::size_t bytes) {
    if (out == nullptr || out_bytes == nullptr || attributes == nullptr) {
        return error_invalid_value;
    }
    result answer = check_range(first, bytes);
    for (std::size_t i = 0; i < count && answer == success; ++i) {
        answer = tell_range(out[i], out_bytes[i], attributes[i]);
    }
    return answer;
}

result cuStreamAttachMemAsync(stream s, device_ptr memory, std::size_t bytes, unsigned flags) {
    const bool known = flags == attach_global || flags == attach_host || flags == attach_single;
    const lock held(the_driver().mutex);
    result why;
    const stream_state* found = find_stream(s, why);
    if (found == nullptr) {
        return why;
    }
    if (!known || !is_managed_range(memory, bytes)) {
        return error_invalid_value;
    }
    return found->capture != nullptr ? refuse_wait(*found) : success;
}

}  // namespace calls

}  // namespace hostlaunch::embedded
