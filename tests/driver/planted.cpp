// SPDX-License-Identifier: Apache-2.0
// A library that nobody may load: it says so if somebody does.
#include <unistd.h>

#include <string_view>

namespace {

[[gnu::constructor]] void tell() {
    constexpr std::string_view mark = "planted code runs\n";
    [[maybe_unused]] const auto written = write(STDERR_FILENO, mark.data(), mark.size());
}

}  // namespace
