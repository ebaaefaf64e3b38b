// SPDX-License-Identifier: Apache-2.0
// How a callable with its arguments lives in a launch record. Not for direct use.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#include "hostlaunch/detail/callable.hpp"
#include "hostlaunch/detail/task_type.hpp"
#include "hostlaunch/export.hpp"
#include "hostlaunch/stream.hpp"

// The thread sanitizer of a program sees no atomics in a library that is built without it, so it is
// told of closures.
#if defined(__SANITIZE_THREAD__)
#define HOSTLAUNCH_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HOSTLAUNCH_THREAD_SANITIZER
#endif
#endif
#ifdef HOSTLAUNCH_THREAD_SANITIZER
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace hostlaunch {
namespace core {
struct record;
struct status;
}  // namespace core

namespace detail {

inline constexpr std::size_t storage_bytes = 64;
inline constexpr std::size_t storage_alignment = 64;
inline constexpr std::size_t storage_offset = 64;  // in a record

// Around each use of a closure, which goes from thread to thread.
struct closure_use {
#ifdef HOSTLAUNCH_THREAD_SANITIZER
    explicit closure_use(void* storage) noexcept : storage_(storage) { __tsan_acquire(storage_); }
    ~closure_use() { __tsan_release(storage_); }
    closure_use(const closure_use&) = delete;
    closure_use& operator=(const closure_use&) = delete;

  private:
    void* storage_;
#else
    explicit closure_use(void*) noexcept {}
#endif
};

// How the compiler spells a type, within "[with F = …]".
template <class F>
constexpr const char* spelled() noexcept {
    return static_cast<const char*>(__PRETTY_FUNCTION__);
}

// A callable with its arguments, in place if it fits, else on the heap behind a pointer in place.
template <class F, class... Args>
struct closure {
    struct content {
        F fn;
        [[no_unique_address]] std::tuple<Args...> args;
    };
    static constexpr bool in_place =
        sizeof(content) <= storage_bytes && alignof(content) <= storage_alignment;
    static constexpr bool trivial = in_place && std::is_trivially_destructible_v<content>;

    template <class G, class... Given>
    static void construct(void* storage, G&& fn, Given&&... given) {
        if (is_null<F>(fn)) refuse_null();
        const closure_use use(storage);
        if constexpr (in_place) {
            ::new (storage)
                content{F(std::forward<G>(fn)), std::tuple<Args...>(std::forward<Given>(given)...)};
        } else {
            ::new (storage) content*(new content{
                F(std::forward<G>(fn)), std::tuple<Args...>(std::forward<Given>(given)...)});
        }
    }

    static content& get(void* storage) noexcept {
        if constexpr (in_place) {
            return *std::launder(static_cast<content*>(storage));
        } else {
            return **std::launder(static_cast<content**>(storage));
        }
    }

    static outcome run(void* storage) {
        const closure_use use(storage);
        content& c = get(storage);
        std::apply([&c](Args&... args) { (void)std::invoke(std::move(c.fn), std::move(args)...); },
                   c.args);
        return outcome::ran;
    }

    static void destroy(void* storage) noexcept {
        const closure_use use(storage);
        if constexpr (in_place) {
            get(storage).~content();
        } else {
            delete &get(storage);
        }
    }

    // Of a callable that carries its name: hostlaunch::named.
    static const char* own_name(void* storage) noexcept
        requires requires(const F& fn) { fn.name_for_reports(); }
    {
        return get(storage).fn.name_for_reports();
    }
    static constexpr auto name_of() noexcept -> const char* (*)(void*) noexcept {
        if constexpr (requires(const F& fn) { fn.name_for_reports(); }) {
            return &own_name;
        } else {
            return nullptr;
        }
    }

    static constexpr task_type type{.run = &run,
                                    .destroy = trivial ? nullptr : &destroy,
                                    .name = spelled<F>(),
                                    .name_of = name_of()};
};

// A record that the caller owns; std::bad_alloc if there is no memory.
HOSTLAUNCH_API core::record* acquire();

inline void* storage_of(core::record* r) noexcept {
    return reinterpret_cast<std::byte*>(r) + storage_offset;
}

// Gives a record back in which nothing was constructed.
HOSTLAUNCH_API void give_back(core::record* r) noexcept;

// Enqueues the closure in the record, which is no longer the caller's. Destroys it and throws if
// nothing was enqueued.
HOSTLAUNCH_API void launch(core::record* r, stream_ref stream, const task_type& type);

// Calls call(fn) as a host function: exceptions go to the handler, calls into the library are
// refused.
HOSTLAUNCH_API void run_borrowed(void (*call)(void*), void* fn);

// Enqueues trampoline(fn), untracked.
HOSTLAUNCH_API void launch_borrowed(stream_ref stream, void (*trampoline)(void*), void* fn);

// The address of a borrowed callable or function as a void pointer, and the call through it.
template <class F>
struct borrowed {
    static void* address(F& fn) noexcept {
        if constexpr (std::is_function_v<F>) {
            return reinterpret_cast<void*>(&fn);
        } else {
            return const_cast<void*>(static_cast<const volatile void*>(std::addressof(fn)));
        }
    }
    static void call(void* fn) {
        if constexpr (std::is_function_v<F>) {
            (void)std::invoke(*reinterpret_cast<F*>(fn));
        } else {
            (void)std::invoke(*static_cast<F*>(fn));
        }
    }
    static void trampoline(void* fn) { run_borrowed(&call, fn); }
};

}  // namespace detail
}  // namespace hostlaunch
