// SPDX-License-Identifier: Apache-2.0
// The text of events is JSON whatever names contain.
#include <gtest/gtest.h>

#include "diagnosis/json_events.hpp"

namespace hostlaunch::diagnosis {
namespace {

std::string text_with(std::string_view name) {
    json_events out;
    out.begin('X').string("name", name).end();
    return out.text();
}

// contract: V4
TEST(json_events, have_their_members_in_order) {
    json_events out;
    out.begin('X').number("pid", -5).microseconds("ts", 1'234'567).hexadecimal("id", 0x1f);
    out.object("args").string("a", "b").end_object().end();
    out.begin('E').microseconds("ts", 7).end();
    EXPECT_EQ(out.text(),
              "[\n{\"ph\":\"X\",\"pid\":-5,\"ts\":1234.567,\"id\":\"0x1f\","
              "\"args\":{\"a\":\"b\"}},\n{\"ph\":\"E\",\"ts\":0.007}");
    EXPECT_EQ(out.count(), 2u);
}

// contract: V4
TEST(json_events, quote_what_must_be_quoted_and_replace_what_is_no_text) {
    EXPECT_EQ(text_with("a\"b\\c\n\x01"),
              "[\n{\"ph\":\"X\",\"name\":\"a\\\"b\\\\c\\u000a\\u0001\"}");
    EXPECT_EQ(text_with("\xe2\x98\x83"), "[\n{\"ph\":\"X\",\"name\":\"\xe2\x98\x83\"}");
    EXPECT_EQ(text_with("\xe2\x98"),
              "[\n{\"ph\":\"X\",\"name\":\"??\"}");  // cut within a character
    EXPECT_EQ(text_with("\xff\xc0z"), "[\n{\"ph\":\"X\",\"name\":\"??z\"}");
}

}  // namespace
}  // namespace hostlaunch::diagnosis
