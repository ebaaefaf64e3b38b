// SPDX-License-Identifier: Apache-2.0
// Finding the names of callables, and remembering them by what they are made from.
#include "tasks/names.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>

#include "arguments/named_function.hpp"
#include "cpython/attributes.hpp"

namespace hostlaunch::python {
namespace {

using core::name_id;

PyObject* name_qualname = nullptr;
PyObject* name_module = nullptr;
PyObject* name_func = nullptr;
PyTypeObject* partial_type = nullptr;

// What a name is found by again: addresses that only things with this name have in common.
struct key {
    const void* first = nullptr;
    const void* second = nullptr;
    const void* third = nullptr;
    bool operator==(const key&) const = default;

    std::size_t hash() const noexcept {
        const auto mix = [](const void* address) {
            return reinterpret_cast<std::size_t>(address) >> 4;
        };
        return mix(first) * 31 + mix(second) * 7 + mix(third);
    }
};
struct key_hash {
    std::size_t operator()(const key& k) const noexcept { return k.hash(); }
};

// Keeps what the addresses belong to, so that none comes to mean another thing. Bounded: a program
// that makes definitions without end has its names found anew each time.
class known_names {
  public:
    name_id find(const key& k) noexcept {
        if constexpr (!has_gil) return find_locked(k);
        recent& r = recents_[k.hash() % recents_.size()];
        if (!(r.of == k)) r = {k, find_locked(k)};
        if (r.name == core::no_name) r.of = {};
        return r.name;
    }

    // The addresses are objects, or null, but for those of a key that is no function's.
    void keep(const key& k, name_id name, bool are_objects) noexcept {
        const std::lock_guard lock(mutex_);
        if (names_.size() >= most) return;
        try {
            if (!names_.emplace(k, name).second || !are_objects) return;
        } catch (const std::bad_alloc&) {
            return;
        }
        for (const void* object : {k.first, k.second, k.third})
            Py_XINCREF(static_cast<PyObject*>(const_cast<void*>(object)));
    }

  private:
    static constexpr std::size_t most = 4096;

    name_id find_locked(const key& k) noexcept {
        const std::lock_guard lock(mutex_);
        const auto found = names_.find(k);
        return found != names_.end() ? found->second : core::no_name;
    }

    struct recent {
        key of;
        name_id name = core::no_name;
    };
    std::array<recent, 256> recents_{};  // under the GIL
    std::mutex mutex_;                   // never held across a call into the interpreter
    std::unordered_map<key, name_id, key_hash> names_;
};
known_names& known() {
    static known_names& only = *new known_names;
    return only;
}

PyObject* object_at(const void* address) noexcept {
    return static_cast<PyObject*>(const_cast<void*>(address));
}

std::string text_of(PyObject* object) {
    Py_ssize_t length = 0;
    const char* text = object != nullptr && PyUnicode_Check(object)
                           ? PyUnicode_AsUTF8AndSize(object, &length)
                           : nullptr;
    if (text == nullptr) {
        PyErr_Clear();
        return "?";
    }
    return {text, static_cast<std::size_t>(length)};
}

owned attribute(PyObject* object, PyObject* name) {
    owned value;
    if (find_attribute(object, name, value) < 0) PyErr_Clear();
    return value;
}

std::string with_place(std::string name, PyObject* function) {
    const auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GetCode(function));
    const std::string file = text_of(code->co_filename);
    const auto slash = file.rfind('/');
    return std::move(name) + " (" + (slash == std::string::npos ? file : file.substr(slash + 1)) +
           ":" + std::to_string(code->co_firstlineno) + ")";
}

bool is_lambda(const std::string& qualname) {
    constexpr std::string_view end = "<lambda>";
    return qualname.size() >= end.size() &&
           qualname.compare(qualname.size() - end.size(), end.size(), end) == 0;
}

// What a function is made from: its code, and the names that it was given. Lambdas differ by their
// code alone, what a decorator makes by its name alone. Borrowed where the GIL keeps them.
key key_of_function(PyObject* fn, owned& qualname, owned& module) {
    if constexpr (has_gil) {
        const auto* f = reinterpret_cast<PyFunctionObject*>(fn);
        return {f->func_code, f->func_qualname, f->func_module};
    }
    qualname = attribute(fn, name_qualname);
    module = attribute(fn, name_module);
    return {PyFunction_GetCode(fn), qualname.get(), module.get()};
}

name_id name_of_function(PyObject* fn) {
    owned kept_qualname;
    owned kept_module;
    const key k = key_of_function(fn, kept_qualname, kept_module);
    if (const name_id id = known().find(k); id != core::no_name) return id;
    const std::string name = text_of(object_at(k.second));
    const std::string full = text_of(object_at(k.third)) + "." + name;
    const name_id id = core::intern(is_lambda(name) ? with_place(full, fn) : full);
    known().keep(k, id, true);
    return id;
}

name_id name_of_builtin(PyObject* fn) {
    const owned qualname = attribute(fn, name_qualname);
    const owned module = attribute(fn, name_module);
    const key k{reinterpret_cast<PyCFunctionObject*>(fn)->m_ml};
    if (const name_id id = known().find(k); id != core::no_name) return id;
    const bool has_module = module.get() != nullptr && PyUnicode_Check(module.get());
    const name_id id = core::intern((has_module ? text_of(module.get()) + "." : std::string()) +
                                    text_of(qualname.get()));
    known().keep(k, id, false);
    return id;
}

// Objects of a class: after the class. Nothing of the object is asked, since that can run its code.
name_id name_of_object(PyObject* fn) {
    PyTypeObject* type = PyType_Check(fn) ? reinterpret_cast<PyTypeObject*>(fn) : Py_TYPE(fn);
    const key k{type};
    if (const name_id id = known().find(k); id != core::no_name) return id;
    const owned module = attribute(reinterpret_cast<PyObject*>(type), name_module);
    const owned qualname = attribute(reinterpret_cast<PyObject*>(type), name_qualname);
    const name_id id = core::intern(text_of(module.get()) + "." + text_of(qualname.get()));
    known().keep(k, id, true);
    return id;
}

name_id name_of_code(const void* code) {
    static constexpr char is_code = 0;
    const key k{code, &is_code};  // not an object's
    if (const name_id id = known().find(k); id != core::no_name) return id;
    Dl_info found{};
    char text[256];
    if (dladdr(code, &found) != 0 && found.dli_sname != nullptr) {
        std::snprintf(text, sizeof text, "%s", found.dli_sname);
    } else {
        std::snprintf(text, sizeof text, "code at %p", code);
    }
    const name_id id = core::intern(text);
    known().keep(k, id, false);
    return id;
}

name_id id_of_named(PyObject* fn) {
    const owned name = name_of_named(fn);
    if (!name) PyErr_Clear();
    const key k{name.get()};
    if (const name_id id = known().find(k); id != core::no_name) return id;
    const name_id id = core::intern(text_of(name.get()));
    known().keep(k, id, true);
    return id;
}

name_id name_of_callable(PyObject* fn, int depth) {
    if (PyFunction_Check(fn)) return name_of_function(fn);
    if (is_named(fn)) return id_of_named(fn);
    if (PyMethod_Check(fn) && depth < 16)
        return name_of_callable(PyMethod_GET_FUNCTION(fn), depth + 1);
    if (PyCFunction_Check(fn)) return name_of_builtin(fn);
    if (Py_TYPE(fn) == partial_type && depth < 16) {
        const owned inner = attribute(fn, name_func);
        return inner ? name_of_callable(inner.get(), depth + 1) : core::no_name;
    }
    return name_of_object(fn);
}

name_id find_name(PyObject* fn, const void* code) {
    // What keeps compiled code alive may be more than the object that was given, which comes first.
    if (PyTuple_CheckExact(fn) && PyTuple_GET_SIZE(fn) > 0) fn = PyTuple_GET_ITEM(fn, 0);
    return code != nullptr && !is_named(fn) ? name_of_code(code) : name_of_callable(fn, 0);
}

}  // namespace

name_id name_of_function(PyObject* fn, const void* code) noexcept {
    try {
        return find_name(fn, code);
    } catch (const std::bad_alloc&) {
        return core::no_name;
    }
}

bool init_names_of_functions() {
    name_qualname = PyUnicode_InternFromString("__qualname__");
    name_module = PyUnicode_InternFromString("__module__");
    name_func = PyUnicode_InternFromString("func");
    const owned functools(PyImport_ImportModule("functools"));
    if (!functools) return false;
    partial_type =
        reinterpret_cast<PyTypeObject*>(PyObject_GetAttrString(functools.get(), "partial"));
    return PyErr_Occurred() == nullptr;
}

}  // namespace hostlaunch::python
