// SPDX-License-Identifier: Apache-2.0
// What compiles and what does not: stream views, overloads, where a callable lives.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include "hostlaunch/hostlaunch.hpp"

namespace hostlaunch {
namespace {

// contract: C1
static_assert(std::is_constructible_v<stream_ref, CUstream_st*>);
static_assert(std::is_constructible_v<stream_ref, const stream&>);
static_assert(std::is_constructible_v<stream_ref, stream&>);
static_assert(std::is_convertible_v<CUstream_st*, stream_ref>);
static_assert(std::is_convertible_v<stream&, stream_ref>);
static_assert(!std::is_constructible_v<stream_ref, std::nullptr_t>);
static_assert(!std::is_constructible_v<stream_ref, int>);
static_assert(!std::is_constructible_v<stream_ref, long>);
static_assert(!std::is_constructible_v<stream_ref, std::uintptr_t>);
static_assert(!std::is_constructible_v<stream_ref, bool>);
static_assert(!std::is_constructible_v<stream_ref, char>);
static_assert(!std::is_constructible_v<stream_ref, double>);
static_assert(!std::is_constructible_v<stream_ref, void*>);
static_assert(!std::is_default_constructible_v<stream_ref>);
template <class S>
concept from_literal_zero = requires { S(0); };
template <class S>
concept from_null_macro = requires { S(NULL); };
static_assert(!from_literal_zero<stream_ref>);
static_assert(!from_null_macro<stream_ref>);
static_assert(!std::is_invocable_v<decltype([](stream_ref) {}), std::nullptr_t>);

static_assert(std::is_trivially_copyable_v<stream_ref>);
static_assert(!std::is_copy_constructible_v<stream> &&
              std::is_nothrow_move_constructible_v<stream>);
static_assert(!std::is_copy_constructible_v<event> && std::is_nothrow_move_constructible_v<event>);
static_assert(!std::is_copy_constructible_v<buffer> &&
              std::is_nothrow_move_constructible_v<buffer>);
static_assert(std::is_nothrow_default_constructible_v<event>);
static_assert(std::is_base_of_v<std::runtime_error, error>);

// Which calls exist.
template <class... Given>
concept can_launch =
    requires(stream_ref s, Given&&... given) { host_launch(s, std::forward<Given>(given)...); };
struct needs_an_int {
    void operator()(int) {}
};
struct only_lvalue {
    void operator()() & {}
};
struct only_rvalue {
    void operator()() && {}
};
struct member {
    void method(int) {}
    int value = 0;
};
using move_only = decltype([p = std::unique_ptr<int>()] { (void)p; });
using as_is_function = void (*)(void*);

static_assert(can_launch<void (*)()>);
static_assert(can_launch<void()>);
static_assert(can_launch<move_only>);
static_assert(!can_launch<move_only&>);
static_assert(can_launch<only_rvalue>);
static_assert(!can_launch<only_lvalue>);
static_assert(can_launch<needs_an_int, int>);
static_assert(can_launch<needs_an_int, short>);
static_assert(!can_launch<needs_an_int>);
static_assert(!can_launch<needs_an_int, std::string>);
static_assert(can_launch<void (*)(std::unique_ptr<int>), std::unique_ptr<int>>);
static_assert(can_launch<void (member::*)(int), member*, int>);
static_assert(can_launch<int member::*, member>);
static_assert(can_launch<std::function<void()>>);
static_assert(can_launch<std::reference_wrapper<only_lvalue>>);
static_assert(!can_launch<std::reference_wrapper<needs_an_int>>);
static_assert(can_launch<std::reference_wrapper<needs_an_int>, int>);
static_assert(can_launch<as_is_function, void*>);
static_assert(can_launch<as_is_function, int*>);
static_assert(can_launch<as_is_function, std::nullptr_t>);
static_assert(can_launch<as_is_function, std::span<const std::byte>>);
static_assert(can_launch<as_is_function, std::span<std::byte>>);
static_assert(!can_launch<as_is_function>);
static_assert(!can_launch<as_is_function, const int*>);
static_assert(!can_launch<int>);
static_assert(!can_launch<std::nullptr_t>);

static_assert(!can_launch<as_is_function, int>);
static_assert(!can_launch<std::unique_ptr<int>>);

// contract: C5. With a builder any number of times: nothing is moved out.
template <class... Given>
concept can_build =
    requires(graph_builder b, Given&&... given) { host_launch(b, std::forward<Given>(given)...); };
template <class... Given>
concept can_call_back =
    requires(graph_builder b, Given&&... given) { b.callback(std::forward<Given>(given)...); };
static_assert(can_build<needs_an_int, int> && can_call_back<needs_an_int, int>);
static_assert(can_build<as_is_function, void*> && can_call_back<as_is_function, void*>);
static_assert(can_build<only_lvalue> && can_call_back<only_lvalue>);
static_assert(!can_build<only_rvalue> && !can_call_back<only_rvalue>);
static_assert(!can_build<needs_an_int> && !can_call_back<needs_an_int>);
static_assert(!can_build<needs_an_int, std::string> && !can_call_back<needs_an_int, std::string>);
static_assert(!can_build<void (*)(std::unique_ptr<int>), std::unique_ptr<int>>);
static_assert(!can_build<move_only&> && !can_call_back<move_only&>);

// contract: C5. Members that are made without an argument.
struct aggregate {
    stream s;
    event e;
};
static_assert(requires { aggregate{}; });
static_assert(std::is_convertible_v<decltype([] { return aggregate{}; }()), aggregate>);

// Where a callable lives. contract: C4
template <std::size_t Size, std::size_t Alignment = 1>
struct sized {
    alignas(Alignment) std::byte bytes[Size];
    void operator()() const {}
};
template <class F, class... Args>
inline constexpr bool in_place = detail::closure<F, Args...>::in_place;

static_assert(in_place<sized<1>>);
static_assert(in_place<sized<64>>);
static_assert(in_place<sized<64, 64>>);
static_assert(!in_place<sized<65>>);
static_assert(!in_place<sized<128, 128>>);
static_assert(in_place<sized<32>, sized<32>>);
static_assert(!in_place<sized<32>, sized<33>>);
static_assert(in_place<void (*)(void*, long), void*, long>);
static_assert(detail::closure<sized<64>>::trivial);
static_assert(detail::closure<sized<64>>::type.destroy == nullptr);
static_assert(!detail::closure<sized<65>>::trivial);
static_assert(!detail::closure<std::function<void()>>::trivial);

// contract: C1
TEST(stream_ref, shows_the_handle_it_was_made_from) {
    auto* handle = reinterpret_cast<CUstream_st*>(std::uintptr_t{2});
    const stream_ref view(handle);
    EXPECT_EQ(view.handle(), handle);
    EXPECT_EQ(view.owner(), nullptr);
}

TEST(version, is_the_packages) {
    EXPECT_EQ(std::to_string(HOSTLAUNCH_VERSION_MAJOR) + "." +
                  std::to_string(HOSTLAUNCH_VERSION_MINOR) + "." +
                  std::to_string(HOSTLAUNCH_VERSION_PATCH),
              PACKAGE_VERSION);
}

}  // namespace
}  // namespace hostlaunch
