// SPDX-License-Identifier: Apache-2.0
// Entry points that copy and set memory, and that wait for and write values in it.
#include <cstdlib>
#include <cstring>

#include "embedded/engine/capture.hpp"
#include "embedded/engine/contexts.hpp"
#include "embedded/engine/memory.hpp"
#include "embedded/engine/poller.hpp"
#include "embedded/engine/waits.hpp"
#include "embedded/entries/calls.hpp"

namespace hostlaunch::embedded {

namespace {

// Smaller copies from the host are staged: the call returns before they are done.
constexpr std::size_t staged_bytes = std::size_t{64} << 10;

template <class T>
void* as_pointer(T address) {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

enum class place { ours, anywhere };

// Whether the range is usable: inside one allocation if it starts in one, and not null.
bool is_range(const void* begin, std::size_t bytes, place where) {
    std::uintptr_t first = 0;
    const allocation* found = find_allocation(begin, first);
    if (found == nullptr) {
        return where == place::anywhere && begin != nullptr;
    }
    return bytes <= found->bytes - (reinterpret_cast<std::uintptr_t>(begin) - first);
}

// Enqueues `what` if the stream exists and `valid(stream_state&)` holds.
template <class Valid>
result enqueue_checked(stream s, const work& what, Valid valid) {
    lock held(the_driver().mutex);
    result why;
    stream_state* found = find_stream(s, why);
    if (found == nullptr) {
        return why;
    }
    return valid() ? enqueue(held, *found, what) : error_invalid_value;
}

work copy_of(void* dst, const void* src, std::size_t bytes, void* staging) {
    work w{};
    w.kind = work_kind::copy;
    w.copy = {dst, src, bytes, staging};
    return w;
}

bool is_on_host(const void* begin) {
    std::uintptr_t first = 0;
    const allocation* found = find_allocation(begin, first);
    return found == nullptr || found->on_host;
}

// A copy from host to host is made by the caller, as on a GPU: once its turn in the stream has
// come.
result copy_async(void* dst, place dst_place, const void* src, place src_place, std::size_t bytes,
                  stream s) {
    lock held(the_driver().mutex);
    result why;
    stream_state* found = find_stream(s, why);
    if (found == nullptr) {
        return why;
    }
    if (bytes != 0 && !(is_range(dst, bytes, dst_place) && is_range(src, bytes, src_place))) {
        return error_invalid_value;
    }
    const bool waits =
        bytes != 0 && found->capture == nullptr && is_on_host(dst) && is_on_host(src);
    const result answer = enqueue(held, *found, copy_of(dst, src, bytes, nullptr));
    return answer == success && waits ? wait_for_stream(held, *found) : answer;
}

// Synchronous work goes through the legacy stream.
result enqueue_synchronous(const work& what, bool waits) {
    lock held(the_driver().mutex);
    result why;
    context_state* ctx = current_context(why);
    if (ctx == nullptr) {
        return why;
    }
    if (const result refused = refuse_unsafe(); refused != success) {
        return refused;
    }
    stream_state& legacy = *ctx->legacy;
    const result answer = enqueue(held, legacy, what);
    if (answer != success || !waits) {
        return answer;
    }
    return wait_for_stream(held, legacy);
}

bool are_ranges(void* dst, place dst_place, const void* src, place src_place, std::size_t bytes) {
    const lock held(the_driver().mutex);
    return is_range(dst, bytes, dst_place) && is_range(src, bytes, src_place);
}

result copy(void* dst, place dst_place, const void* src, place src_place, std::size_t bytes) {
    if (bytes != 0 && !are_ranges(dst, dst_place, src, src_place, bytes)) {
        return error_invalid_value;
    }
    return enqueue_synchronous(copy_of(dst, src, bytes, nullptr), true);
}

result copy_from_host(void* dst, const void* src, std::size_t bytes) {
    if (bytes == 0 || bytes > staged_bytes) {
        return copy(dst, place::ours, src, place::anywhere, bytes);
    }
    if (!are_ranges(dst, place::ours, src, place::anywhere, bytes)) {
        return error_invalid_value;
    }
    void* const staging = std::malloc(bytes);
    if (staging == nullptr) {
        return error_out_of_memory;
    }
    std::memcpy(staging, src, bytes);
    const result answer = enqueue_synchronous(copy_of(dst, staging, bytes, staging), false);
    if (answer != success) {
        std::free(staging);
    }
    return answer;  // NOLINT(clang-analyzer-unix.Malloc): the queued work owns staging
}

work fill_of(device_ptr dst, std::uint32_t value, unsigned width, std::size_t count) {
    work w{};
    w.kind = work_kind::fill;
    w.fill = {as_pointer(dst), count, value, width};
    return w;
}

bool is_fill_range(const work::fill_work& w) {
    return w.count == 0 ||
           (reinterpret_cast<std::uintptr_t>(w.dst) % w.width == 0 &&
            w.count <= SIZE_MAX / w.width && is_range(w.dst, w.count * w.width, place::ours));
}

result fill_async(const work& what, stream s) {
    return enqueue_checked(s, what, [&] { return is_fill_range(what.fill); });
}

// Asynchronous to the host, as on a GPU.
result fill_legacy(const work& what) {
    {
        const lock held(the_driver().mutex);
        if (!is_fill_range(what.fill)) {
            return error_invalid_value;
        }
    }
    return enqueue_synchronous(what, false);
}

work value_of(work_kind kind, device_ptr address, std::uint64_t value, unsigned flags,
              unsigned width) {
    work w{};
    w.kind = kind;
    w.value = {as_pointer(address), value, flags, width};
    return w;
}

result enqueue_value(stream s, const work& what) {
    constexpr unsigned conditions = 3;
    constexpr unsigned flush = 1u << 30;
    const unsigned known = what.kind == work_kind::wait_value ? conditions | flush : 0;
    if ((what.value.flags & flush) != 0) {
        return error_not_supported;
    }
    return enqueue_checked(s, what, [&] {
        const auto address = reinterpret_cast<std::uintptr_t>(what.value.address);
        return (what.value.flags & ~known) == 0 && address % what.value.width == 0 &&
               is_range(what.value.address, what.value.width, place::ours) && ensure_poller();
    });
}

}  // namespace

namespace calls {

result cuMemcpy(device_ptr dst, device_ptr src, std::size_t bytes) {
    return copy(as_pointer(dst), place::anywhere, as_pointer(src), place::anywhere, bytes);
}

result cuMemcpyHtoD_v2(device_ptr dst, const void* src, std::size_t bytes) {
    return copy_from_host(as_pointer(dst), src, bytes);
}

result cuMemcpyDtoH_v2(void* dst, device_ptr src, std::size_t bytes) {
    return copy(dst, place::anywhere, as_pointer(src), place::ours, bytes);
}

result cuMemcpyDtoD_v2(device_ptr dst, device_ptr src, std::size_t bytes) {
    return copy(as_pointer(dst), place::ours, as_pointer(src), place::ours, bytes);
}

result cuMemcpyAsync(device_ptr dst, device_ptr src, std::size_t bytes, stream s) {
    return copy_async(as_pointer(dst), place::anywhere, as_pointer(src), place::anywhere, bytes, s);
}

result cuMemcpyHtoDAsync_v2(device_ptr dst, const void* src, std::size_t bytes, stream s) {
    return copy_async(as_pointer(dst), place::ours, src, place::anywhere, bytes, s);
}

result cuMemcpyDtoHAsync_v2(void* dst, device_ptr src, std::size_t bytes, stream s) {
    return copy_async(dst, place::anywhere, as_pointer(src), place::ours, bytes, s);
}

result cuMemcpyDtoDAsync_v2(device_ptr dst, device_ptr src, std::size_t bytes, stream s) {
    return copy_async(as_pointer(dst), place::ours, as_pointer(src), place::ours, bytes, s);
}

result cuMemsetD8_v2(device_ptr dst, unsigned char value, std::size_t count) {
    return fill_legacy(fill_of(dst, value, 1, count));
}

result cuMemsetD32_v2(device_ptr dst, unsigned value, std::size_t count) {
    return fill_legacy(fill_of(dst, value, 4, count));
}

result cuMemsetD8Async(device_ptr dst, unsigned char value, std::size_t count, stream s) {
    return fill_async(fill_of(dst, value, 1, count), s);
}

result cuMemsetD32Async(device_ptr dst, unsigned value, std::size_t count, stream s) {
    return fill_async(fill_of(dst, value, 4, count), s);
}

result cuStreamWaitValue32_v2(stream s, device_ptr address, std::uint32_t value, unsigned flags) {
    return enqueue_value(s, value_of(work_kind::wait_value, address, value, flags, 4));
}

result cuStreamWaitValue64_v2(stream s, device_ptr address, std::uint64_t value, unsigned flags) {
    return enqueue_value(s, value_of(work_kind::wait_value, address, value, flags, 8));
}

result cuStreamWriteValue32_v2(stream s, device_ptr address, std::uint32_t value, unsigned flags) {
    return enqueue_value(s, value_of(work_kind::write_value, address, value, flags, 4));
}

result cuStreamWriteValue64_v2(stream s, device_ptr address, std::uint64_t value, unsigned flags) {
    return enqueue_value(s, value_of(work_kind::write_value, address, value, flags, 8));
}

}  // namespace calls

}  // namespace hostlaunch::embedded
