// SPDX-License-Identifier: Apache-2.0
// Names are kept once, found again, and bounded.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "core/task/names.hpp"
#include "hostlaunch/launch.hpp"
#include "hostlaunch/named.hpp"

namespace hostlaunch::core {

void a_function() {}

namespace {

template <class F>
std::string name_of(F fn) {
    using closure = hostlaunch::detail::closure<F>;
    alignas(64) std::byte storage[64];
    closure::construct(storage, std::move(fn));
    const std::string name = text_of(name_of_type(closure::type, storage));
    closure::destroy(storage);
    return name;
}

struct functor {
    void operator()() const {}
};

// contract: V2
TEST(names, of_callables_are_those_of_their_types_or_what_they_were_told) {
    EXPECT_EQ(name_of(functor{}), "hostlaunch::core::{anonymous}::functor");
    EXPECT_EQ(name_of(named("mine", functor{})), "mine");
    EXPECT_EQ(name_of(named("a [name]; F = x", [] {})), "a [name]; F = x");
    EXPECT_NE(name_of([] {}).find("lambda"), std::string::npos);
    EXPECT_EQ(name_of(&a_function), "void (*)()");
}

// contract: V2
TEST(names, of_the_same_text_are_the_same_on_all_threads) {
    std::vector<std::vector<name_id>> found(4);
    {
        std::vector<std::jthread> threads;
        for (auto& ids : found) {
            threads.emplace_back([&ids] {
                for (int i = 0; i < 2000; ++i)
                    ids.push_back(intern("name " + std::to_string(i)));
            });
        }
    }
    for (const auto& ids : found)
        EXPECT_EQ(ids, found[0]);
    EXPECT_STREQ(text_of(found[0][1234]), "name 1234");
    EXPECT_STREQ(text_of(no_name), "a function");
}

// contract: V2
TEST(names, are_cut_where_they_are_long) {
    EXPECT_EQ(std::string(text_of(intern(std::string(1000, 'x')))), std::string(200, 'x'));
}

// contract: V4: memory is bounded
TEST(names, without_end_become_one) {
    name_id last = no_name;
    for (int i = 0; i < 70'000; ++i)
        last = intern("made up " + std::to_string(i));
    EXPECT_STREQ(text_of(last), "(one of too many functions to name)");
    EXPECT_EQ(intern("made up 1"), intern("made up 1"));
}

}  // namespace
}  // namespace hostlaunch::core
