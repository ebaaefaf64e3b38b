// SPDX-License-Identifier: Apache-2.0
// Text of the trace format, as large buffers of whole events.
//
// Format: "Trace Event Format", an array of objects; times in microseconds with three decimals.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hostlaunch::diagnosis {

// Appends one event at a time to a buffer. Members come in the order of the calls.
class json_events {
  public:
    json_events& begin(char phase) {
        text_ += text_.empty() && first_ ? "[\n{\"ph\":\"" : ",\n{\"ph\":\"";
        first_ = false;
        text_ += phase;
        text_ += '"';
        return *this;
    }
    json_events& number(std::string_view key, std::int64_t value) {
        name(key);
        text_ += std::to_string(value);
        return *this;
    }
    json_events& microseconds(std::string_view key, std::uint64_t nanoseconds);
    json_events& string(std::string_view key, std::string_view value);
    json_events& hexadecimal(std::string_view key, std::uint64_t value);
    // Until end_object, members belong to an object with this key.
    json_events& object(std::string_view key) {
        name(key);
        text_ += '{';
        return *this;
    }
    json_events& end_object() {
        text_ += '}';
        return *this;
    }
    void end() {
        text_ += '}';
        ++count_;
    }

    std::string& text() noexcept { return text_; }
    const std::string& text() const noexcept { return text_; }
    std::uint64_t count() const noexcept { return count_; }

  private:
    void name(std::string_view key) {
        if (text_.back() != '{') text_ += ',';
        text_ += '"';
        text_ += key;
        text_ += "\":";
    }

    std::string text_;
    bool first_ = true;
    std::uint64_t count_ = 0;
};

}  // namespace hostlaunch::diagnosis
