// SPDX-License-Identifier: Apache-2.0
// Formatting without allocation.
#include "diagnosis/report.hpp"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace hostlaunch::diagnosis {

void report::add(const char* format, ...) noexcept {
    va_list arguments;
    va_start(arguments, format);
    const std::size_t room = text_.size() - length_;
    const int needed = std::vsnprintf(text_.data() + length_, room, format, arguments);
    va_end(arguments);
    if (needed > 0) length_ += std::min(static_cast<std::size_t>(needed), room - 1);
}

void report::write_to(int file) const noexcept {
    std::size_t done = 0;
    while (done < length_) {
        const ssize_t wrote = write(file, text_.data() + done, length_ - done);
        if (wrote > 0) done += static_cast<std::size_t>(wrote);
        if (wrote < 0 && errno != EINTR) return;
    }
}

duration_text::duration_text(std::uint64_t nanoseconds) noexcept {
    const auto tenths = static_cast<unsigned long long>(nanoseconds / 100'000'000);
    std::snprintf(text.data(), text.size(), "%llu.%llu s", tenths / 10, tenths % 10);
}

stream_text::stream_text(std::uint64_t stream) noexcept {
    const char* names[] = {"the default stream", "the legacy default stream",
                           "the per-thread default stream"};
    if (stream < std::size(names)) {
        std::snprintf(text.data(), text.size(), "%s", names[stream]);
    } else {
        std::snprintf(text.data(), text.size(), "stream 0x%llx",
                      static_cast<unsigned long long>(stream));
    }
}

thread_text::thread_text(int thread, std::uint64_t handle) noexcept {
    std::snprintf(text.data(), text.size(), "/proc/self/task/%d/comm", thread);
    std::array<char, 20> name{};
    const int file = open(text.data(), O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        const ssize_t got = read(file, name.data(), name.size() - 1);
        close(file);
        if (got > 0) name[static_cast<std::size_t>(got) - 1] = '\0';  // instead of the line's end
    }
    std::snprintf(text.data(), text.size(), "thread %d (%s, 0x%016llx)", thread, name.data(),
                  static_cast<unsigned long long>(handle));
}

}  // namespace hostlaunch::diagnosis
