// SPDX-License-Identifier: Apache-2.0
// A note tells of the launch that it was made for and of no other.
#include <gtest/gtest.h>

#include "core/task/record.hpp"
#include "core/task/task_notes.hpp"

namespace hostlaunch::core {
namespace {

std::uint64_t token(std::uint64_t index, std::uint64_t generation) {
    return generation << record::index_bits | index;
}

// contract: V2
TEST(task_notes, are_of_one_generation_of_a_record) {
    EXPECT_EQ(note_of(token(70'000, 1)).name, no_name);
    note_name(token(70'000, 1), 5);
    EXPECT_EQ(note_of(token(70'000, 1)).name, 5u);
    EXPECT_EQ(note_of(token(70'000, 2)).name, no_name);
    EXPECT_EQ(note_of(token(70'001, 1)).name, no_name);
    note_stream(token(70'000, 1), 77);
    EXPECT_EQ(note_of(token(70'000, 1)).name, 5u);
    EXPECT_EQ(note_of(token(70'000, 1)).stream, 77u);
    note_stream(token(70'000, 2), 78);
    EXPECT_EQ(note_of(token(70'000, 2)).name, no_name);
    EXPECT_EQ(note_of(token(70'000, 2)).stream, 78u);
    note_name(token(70'000, 3), 6);
    EXPECT_EQ(note_of(token(70'000, 3)).stream, 0u);
}

}  // namespace
}  // namespace hostlaunch::core
