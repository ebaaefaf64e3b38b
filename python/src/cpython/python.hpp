// SPDX-License-Identifier: Apache-2.0
// Python.h, references, and the ways into Python and out of it. A header alone: templates and what
// they need.
#pragma once

#include <Python.h>
#include <cxxabi.h>

#include <string>
#include <utility>

#include "core/process/gate.hpp"

namespace hostlaunch::python {

#ifdef Py_GIL_DISABLED
inline constexpr bool has_gil = false;
#else
inline constexpr bool has_gil = true;
#endif

// An owned reference. Used only on threads that are attached, and never across code that may end
// the thread by forced unwinding.
class owned {
  public:
    owned() noexcept = default;
    explicit owned(PyObject* reference) noexcept : object_(reference) {}
    owned(owned&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    owned& operator=(owned&& other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~owned() { Py_XDECREF(object_); }

    PyObject* get() const noexcept { return object_; }
    PyObject* release() noexcept { return std::exchange(object_, nullptr); }
    explicit operator bool() const noexcept { return object_ != nullptr; }

  private:
    PyObject* object_ = nullptr;
};

// Text that may have a path in it, which need not be UTF-8: as os.fsdecode reads it.
inline owned decoded(const std::string& text) {
    return owned(
        PyUnicode_DecodeFSDefaultAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}

// Runs f, which may run Python code of users. A daemon thread that CPython ends there by forced
// unwinding parks: the frames above hold references that it may not drop.
template <class F>
auto in_python(F&& f) {
    try {
        return f();
    } catch (::abi::__forced_unwind&) {
        core::park();
    }
}

// Attaches again. A daemon thread that comes back while the interpreter ends is given up by
// CPython, up to 3.13.7 by forced unwinding: it must not pass the frames above, so the thread parks
// here.
inline void attach_again(PyThreadState* state) {
    try {
        PyEval_RestoreThread(state);
    } catch (::abi::__forced_unwind&) {
        core::park();
    }
}

// Calls f() detached from the interpreter and returns what it returns, or throws what it throws.
template <class F>
auto without_gil(F&& f) {
    PyThreadState* state = PyEval_SaveThread();
    try {
        auto value = f();
        attach_again(state);
        return value;
    } catch (...) {
        attach_again(state);
        throw;
    }
}

}  // namespace hostlaunch::python
