// SPDX-License-Identifier: Apache-2.0
// Numbers and texts as JSON has them.
#include "diagnosis/json_events.hpp"

#include <array>

namespace hostlaunch::diagnosis {
namespace {

constexpr std::string_view digits = "0123456789abcdef";

// What follows in UTF-8 if this byte begins a character; 0 for a byte that cannot.
std::size_t length_of(unsigned char lead) noexcept {
    if (lead < 0x80) return 1;
    if (lead >= 0xc2 && lead < 0xe0) return 2;
    if (lead >= 0xe0 && lead < 0xf0) return 3;
    return lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
}

bool is_whole(std::string_view at, std::size_t length) noexcept {
    if (length == 0 || at.size() < length) return false;
    for (std::size_t i = 1; i < length; ++i) {
        if ((static_cast<unsigned char>(at[i]) & 0xc0) != 0x80) return false;
    }
    return true;
}

}  // namespace

json_events& json_events::microseconds(std::string_view key, std::uint64_t nanoseconds) {
    name(key);
    text_ += std::to_string(nanoseconds / 1000);
    const auto rest = static_cast<unsigned>(nanoseconds % 1000);
    const std::array<char, 4> decimals{'.', digits[rest / 100], digits[rest / 10 % 10],
                                       digits[rest % 10]};
    text_.append(decimals.data(), decimals.size());
    return *this;
}

json_events& json_events::hexadecimal(std::string_view key, std::uint64_t value) {
    name(key);
    text_ += "\"0x";
    int shift = 60;
    while (shift > 0 && (value >> shift) == 0)
        shift -= 4;
    for (; shift >= 0; shift -= 4)
        text_ += digits[value >> shift & 0xf];
    text_ += '"';
    return *this;
}

// Names may be cut within a character, or hold anything: what is no UTF-8 becomes a question mark.
json_events& json_events::string(std::string_view key, std::string_view value) {
    name(key);
    text_ += '"';
    while (!value.empty()) {
        const auto lead = static_cast<unsigned char>(value.front());
        std::size_t length = length_of(lead);
        if (!is_whole(value, length)) {
            text_ += '?';
            length = 1;
        } else if (lead < 0x20) {
            text_ += "\\u00";
            text_ += digits[lead >> 4];
            text_ += digits[lead & 0xf];
        } else {
            if (lead == '"' || lead == '\\') text_ += '\\';
            text_.append(value.substr(0, length));
        }
        value.remove_prefix(length);
    }
    text_ += '"';
    return *this;
}

}  // namespace hostlaunch::diagnosis
