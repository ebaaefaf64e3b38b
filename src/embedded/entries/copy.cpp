// SPDX-License-Identifier: Apache-2.0
// Entry points that copy memory.
#include <cstdlib>
#include <cstring>

#include "embedded/engine/capture.hpp"
#include "embedded/engine/contexts.hpp"
#include "embedded/engine/memory.hpp"
#include "embedded/engine/waits.hpp"
#include "embedded/entries/arguments.hpp"
#include "embedded/entries/calls.hpp"
#include "embedded/entries/synchronous.hpp"

namespace hostlaunch::embedded {

namespace {

// Smaller copies from the host are staged: the call returns before they are done.
constexpr std::size_t staged_bytes = std::size_t{64} << 10;

// A copy from host to host is made by the caller, as on a GPU: once its turn in the stream has
// come.
result copy_async(const copy_arguments& copy, stream s) {
    lock held(the_driver().mutex);
    result why;
    stream_state* found = find_stream(s, why);
    if (found == nullptr) {
        return why;
    }
    if (!is_valid(copy)) {
        return error_invalid_value;
    }
    const work::copy_work& w = copy.what.copy;
    const bool waits = span_of(w, w.to) != 0 && found->capture == nullptr && is_on_host(w.dst) &&
                       is_on_host(w.src);
    const result answer = enqueue(held, *found, copy.what);
    return answer == success && waits ? wait_for_stream(held, *found) : answer;
}

result copy_now(const copy_arguments& copy) {
    {
        const lock held(the_driver().mutex);
        if (!is_valid(copy)) {
            return error_invalid_value;
        }
    }
    return enqueue_synchronous(copy.what, true);
}

result copy_from_host(void* dst, const void* src, std::size_t bytes) {
    copy_arguments copy = copy_of(dst, place::ours, src, place::anywhere, bytes);
    if (bytes == 0 || bytes > staged_bytes) {
        return copy_now(copy);
    }
    {
        const lock held(the_driver().mutex);
        if (!is_valid(copy)) {
            return error_invalid_value;
        }
    }
    void* const staging = std::malloc(bytes);
    if (staging == nullptr) {
        return error_out_of_memory;
    }
    std::memcpy(staging, src, bytes);
    copy.what.copy.src = staging;
    copy.what.copy.staging = staging;
    const result answer = enqueue_synchronous(copy.what, false);
    if (answer != success) {
        std::free(staging);
    }
    return answer;  // NOLINT(clang-analyzer-unix.Malloc): the queued work owns staging
}

result check_contexts(context to, context from) {
    const lock held(the_driver().mutex);
    result why;
    const bool known = find_context(to, why) != nullptr && find_context(from, why) != nullptr;
    return known ? success : error_invalid_context;
}

// `body(copy_arguments)` if the parameters are there and make sense.
template <class Params, class Body>
result with_copy(const Params* params, const Body& body) {
    const auto copy = params != nullptr ? copy_of(*params) : std::nullopt;
    return copy ? body(*copy) : error_invalid_value;
}

}  // namespace

namespace calls {

result cuMemcpy(device_ptr dst, device_ptr src, std::size_t bytes) {
    return copy_now(
        copy_of(as_pointer(dst), place::anywhere, as_pointer(src), place::anywhere, bytes));
}

result cuMemcpyHtoD_v2(device_ptr dst, const void* src, std::size_t bytes) {
    return copy_from_host(as_pointer(dst), src, bytes);
}

result cuMemcpyDtoH_v2(void* dst, device_ptr src, std::size_t bytes) {
    return copy_now(copy_of(dst, place::anywhere, as_pointer(src), place::ours, bytes));
}

result cuMemcpyDtoD_v2(device_ptr dst, device_ptr src, std::size_t bytes) {
    return copy_now(copy_of(as_pointer(dst), place::ours, as_pointer(src), place::ours, bytes));
}

result cuMemcpyAsync(device_ptr dst, device_ptr src, std::size_t bytes, stream s) {
    return copy_async(
        copy_of(as_pointer(dst), place::anywhere, as_pointer(src), place::anywhere, bytes), s);
}

result cuMemcpyHtoDAsync_v2(device_ptr dst, const void* src, std::size_t bytes, stream s) {
    return copy_async(copy_of(as_pointer(dst), place::ours, src, place::anywhere, bytes), s);
}

result cuMemcpyDtoHAsync_v2(void* dst, device_ptr src, std::size_t bytes, stream s) {
    return copy_async(copy_of(dst, place::anywhere, as_pointer(src), place::ours, bytes), s);
}

result cuMemcpyDtoDAsync_v2(device_ptr dst, device_ptr src, std::size_t bytes, stream s) {
    return copy_async(copy_of(as_pointer(dst), place::ours, as_pointer(src), place::ours, bytes),
                      s);
}

result cuMemcpyPeer(device_ptr dst, context to, device_ptr src, context from, std::size_t bytes) {
    const result known = check_contexts(to, from);
    return known != success ? known
                            : copy_now(copy_of(as_pointer(dst), place::ours, as_pointer(src),
                                               place::ours, bytes));
}

result cuMemcpyPeerAsync(device_ptr dst, context to, device_ptr src, context from,
                         std::size_t bytes, stream s) {
    const result known = check_contexts(to, from);
    return known != success
               ? known
               : copy_async(
                     copy_of(as_pointer(dst), place::ours, as_pointer(src), place::ours, bytes), s);
}

result cuMemcpy2D_v2(const flat_copy_params* params) {
    return with_copy(params, [](const copy_arguments& copy) { return copy_now(copy); });
}

result cuMemcpy2DUnaligned_v2(const flat_copy_params* params) {
    return cuMemcpy2D_v2(params);
}

result cuMemcpy2DAsync_v2(const flat_copy_params* params, stream s) {
    return with_copy(params, [&](const copy_arguments& copy) { return copy_async(copy, s); });
}

result cuMemcpy3D_v2(const copy_params* params) {
    return with_copy(params, [](const copy_arguments& copy) { return copy_now(copy); });
}

result cuMemcpy3DAsync_v2(const copy_params* params, stream s) {
    return with_copy(params, [&](const copy_arguments& copy) { return copy_async(copy, s); });
}

}  // namespace calls

}  // namespace hostlaunch::embedded
