// SPDX-License-Identifier: Apache-2.0
// Entry points that set memory.
#include "embedded/engine/capture.hpp"
#include "embedded/engine/contexts.hpp"
#include "embedded/entries/arguments.hpp"
#include "embedded/entries/calls.hpp"
#include "embedded/entries/synchronous.hpp"

namespace hostlaunch::embedded {

namespace {

result fill_async(const work& what, stream s) {
    lock held(the_driver().mutex);
    result why;
    stream_state* found = find_stream(s, why);
    if (found == nullptr) {
        return why;
    }
    return is_valid(what.fill) ? enqueue(held, *found, what) : error_invalid_value;
}

// Asynchronous to the host, as on a GPU.
result fill_legacy(const work& what) {
    {
        const lock held(the_driver().mutex);
        if (!is_valid(what.fill)) {
            return error_invalid_value;
        }
    }
    return enqueue_synchronous(what, false);
}

}  // namespace

namespace calls {

result cuMemsetD8_v2(device_ptr dst, unsigned char value, std::size_t count) {
    return fill_legacy(fill_of(dst, value, 1, count));
}

result cuMemsetD8Async(device_ptr dst, unsigned char value, std::size_t count, stream s) {
    return fill_async(fill_of(dst, value, 1, count), s);
}

result cuMemsetD2D8_v2(device_ptr dst, std::size_t pitch, unsigned char value, std::size_t width,
                       std::size_t height) {
    return fill_legacy(fill_of({dst, pitch, value, 1, width, height}));
}

result cuMemsetD2D8Async(device_ptr dst, std::size_t pitch, unsigned char value, std::size_t width,
                         std::size_t height, stream s) {
    return fill_async(fill_of({dst, pitch, value, 1, width, height}), s);
}

result cuMemsetD16_v2(device_ptr dst, unsigned short value, std::size_t count) {
    return fill_legacy(fill_of(dst, value, 2, count));
}

result cuMemsetD16Async(device_ptr dst, unsigned short value, std::size_t count, stream s) {
    return fill_async(fill_of(dst, value, 2, count), s);
}

result cuMemsetD2D16_v2(device_ptr dst, std::size_t pitch, unsigned short value, std::size_t width,
                        std::size_t height) {
    return fill_legacy(fill_of({dst, pitch, value, 2, width, height}));
}

result cuMemsetD2D16Async(device_ptr dst, std::size_t pitch, unsigned short value,
                          std::size_t width, std::size_t height, stream s) {
    return fill_async(fill_of({dst, pitch, value, 2, width, height}), s);
}

result cuMemsetD32_v2(device_ptr dst, unsigned value, std::size_t count) {
    return fill_legacy(fill_of(dst, value, 4, count));
}

result cuMemsetD32Async(device_ptr dst, unsigned value, std::size_t count, stream s) {
    return fill_async(fill_of(dst, value, 4, count), s);
}

result cuMemsetD2D32_v2(device_ptr dst, std::size_t pitch, unsigned value, std::size_t width,
                        std::size_t height) {
    return fill_legacy(fill_of({dst, pitch, value, 4, width, height}));
}

result cuMemsetD2D32Async(device_ptr dst, std::size_t pitch, unsigned value, std::size_t width,
                          std::size_t height, stream s) {
    return fill_async(fill_of({dst, pitch, value, 4, width, height}), s);
}

}  // namespace calls

}  // namespace hostlaunch::embedded
