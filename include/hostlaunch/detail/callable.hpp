// SPDX-License-Identifier: Apache-2.0
// Which callables can be launched, and what the compiler says of the others. Not for direct use.
//
// The others meet a deleted overload whose result type is the reason: so a compiler's first line
// has it, and a `requires` of a caller's finds no launch.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <span>
#include <type_traits>

#include "hostlaunch/export.hpp"

namespace hostlaunch {

struct error_the_callable_cannot_be_copied_or_called_with_copies_of_these_arguments {};

namespace detail {

template <class T>
inline constexpr bool is_reference_wrapper = false;
template <class T>
inline constexpr bool is_reference_wrapper<std::reference_wrapper<T>> = true;

template <class F, class... Args>
concept storable = std::constructible_from<std::decay_t<F>, F> &&
                   (std::constructible_from<std::decay_t<Args>, Args> && ...);

// What the overloads for functions that the driver gets as they are may be meant by. They also take
// a lambda without captures, unless it can be called with the argument itself.
template <class F, class... Args>
concept converts_to_host_function =
    std::convertible_to<std::decay_t<F>, void (*)(void*)> && sizeof...(Args) == 1;
template <class F, class... Args>
concept as_is_function =
    converts_to_host_function<F, Args...> && std::is_pointer_v<std::decay_t<F>>;
template <class F, class... Args>
concept as_is =
    converts_to_host_function<F, Args...> &&
    ((std::convertible_to<Args, void*> || std::convertible_to<Args, std::span<const std::byte>>) &&
     ...);

template <class F>
struct referred {};
template <class T>
struct referred<std::reference_wrapper<T>> {
    using type = T;
};
template <class F, class... Args>
concept borrowable = is_reference_wrapper<std::decay_t<F>> && sizeof...(Args) == 0;
template <class F, class... Args>
concept borrowed_as_is =
    borrowable<F, Args...> && std::invocable<typename referred<std::decay_t<F>>::type&>;

// Once, with what was copied as rvalues. Excluded: what the other overloads take.
template <class F, class... Args>
concept launchable = std::invocable<std::decay_t<F>, std::decay_t<Args>...> &&
                     storable<F, Args...> && !as_is_function<F, Args...> && !borrowable<F, Args...>;

// Any number of times, with what was copied as lvalues.
template <class F, class... Args>
concept relaunchable =
    std::invocable<std::decay_t<F>&, std::decay_t<Args>&...> && storable<F, Args...>;

template <class F, class... Args>
concept refused = !launchable<F, Args...> && !as_is<F, Args...> && !borrowed_as_is<F, Args...>;

// True for what is no function: a null pointer, an empty std::function.
template <class F>
bool is_null(const F& fn) noexcept {
    if constexpr (std::is_pointer_v<F> || std::is_member_pointer_v<F> ||
                  (std::constructible_from<F, std::nullptr_t> && requires {
                      { fn == nullptr } -> std::convertible_to<bool>;
                  })) {
        return fn == nullptr;
    } else {
        return false;
    }
}

// Throws `error` with CUDA_ERROR_INVALID_VALUE, as the driver refuses a null function.
[[noreturn]] HOSTLAUNCH_API void refuse_null();

}  // namespace detail
}  // namespace hostlaunch
