// SPDX-License-Identifier: Apache-2.0
// Names for callables, as reports and traces tell them.
#pragma once

#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

namespace hostlaunch {

// A callable with a name of its own. Made by `named`.
template <class F>
class named_function {
  public:
    named_function(const char* name, F fn) : name_(name), fn_(std::move(fn)) {}

    template <class... Args>
        requires std::invocable<F&&, Args...>
    decltype(auto) operator()(Args&&... args) && {
        return std::invoke(std::move(fn_), std::forward<Args>(args)...);
    }
    template <class... Args>
        requires std::invocable<F&, Args...>
    decltype(auto) operator()(Args&&... args) & {
        return std::invoke(fn_, std::forward<Args>(args)...);
    }

    const char* name_for_reports() const noexcept { return name_; }

  private:
    const char* name_;
    F fn_;
};

// What host_launch and callback take in place of fn; without it a callable is called after its
// type, which for a lambda tells the function around it. `name` must live until fn has run: a
// literal.
template <class F>
named_function<std::decay_t<F>> named(const char* name, F&& fn) {
    return {name, std::forward<F>(fn)};
}

}  // namespace hostlaunch
