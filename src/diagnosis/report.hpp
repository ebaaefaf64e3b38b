// SPDX-License-Identifier: Apache-2.0
// A text of bounded length that allocates nothing, written out in one go.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace hostlaunch::diagnosis {

class report {
  public:
    // As printf. What does not fit is left out.
    [[gnu::format(printf, 2, 3)]] void add(const char* format, ...) noexcept;
    void clear() noexcept { length_ = 0; }
    bool empty() const noexcept { return length_ == 0; }

    // Writes all of it; gives up at the first error.
    void write_to(int file) const noexcept;

  private:
    std::array<char, 16384> text_;
    std::size_t length_ = 0;
};

// "5.0 s" in a buffer of the caller's.
struct duration_text {
    explicit duration_text(std::uint64_t nanoseconds) noexcept;
    std::array<char, 24> text;
    const char* c_str() const noexcept { return text.data(); }
};

// "stream 0x55…" or the name of a default stream.
struct stream_text {
    explicit stream_text(std::uint64_t stream) noexcept;
    std::array<char, 32> text;
    const char* c_str() const noexcept { return text.data(); }
};

// "thread 42 (python, 0x7f…)": the kernel's number and name of a thread of this process, and what
// Python calls it in stacks.
struct thread_text {
    thread_text(int thread, std::uint64_t handle) noexcept;
    std::array<char, 72> text;
    const char* c_str() const noexcept { return text.data(); }
};

}  // namespace hostlaunch::diagnosis
