// SPDX-License-Identifier: Apache-2.0
// Reads ctypes' objects by the members of their base class, which no field of a structure hides,
// and its thunks by what they show the garbage collector: the same in CPython 3.11 to 3.15.
#include "cpython/thunks.hpp"

#include <array>
#include <cstring>
#include <new>
#include <unordered_set>

namespace hostlaunch::python {
namespace {

// Python's recursion is not counted here, and a chain of casts is as long as a program makes it.
constexpr int deepest = 200;

PyObject* name_objects = nullptr;
PyObject* name_base = nullptr;

PyTypeObject* data_class(PyTypeObject* function_class) noexcept {
    return function_class->tp_base;
}

// A member of ctypes' base class, by its descriptor. None becomes null.
owned member_of(PyObject* object, PyTypeObject* function_class, PyObject* name) {
    auto* base = reinterpret_cast<PyObject*>(data_class(function_class));
    const owned descriptor(PyObject_GetAttr(base, name));
    if (!descriptor) return owned();
    const descrgetfunc get = Py_TYPE(descriptor.get())->tp_descr_get;
    owned value(get != nullptr ? get(descriptor.get(), object, base) : nullptr);
    return value.get() == Py_None ? owned() : std::move(value);
}

bool is_thunk(PyObject* object) noexcept {
    const char* name = Py_TYPE(object)->tp_name;
    return std::strcmp(name, "_ctypes.CThunkObject") == 0 || std::strcmp(name, "CThunkObject") == 0;
}

// A thunk begins with where its code can be written and where it is executed.
const void* code_of_thunk(PyObject* thunk) noexcept {
    struct beginning {
        PyVarObject head;
        void* writable;
        void* executable;
    };
    if (Py_TYPE(thunk)->tp_basicsize < static_cast<Py_ssize_t>(sizeof(beginning))) return nullptr;
    return reinterpret_cast<const beginning*>(thunk)->executable;
}

const void* code_of_function(PyObject* function) {
    Py_buffer view;
    if (PyObject_GetBuffer(function, &view, PyBUF_SIMPLE) != 0) {
        PyErr_Clear();
        return nullptr;
    }
    void* code = nullptr;
    if (view.len == static_cast<Py_ssize_t>(sizeof code)) std::memcpy(&code, view.buf, sizeof code);
    PyBuffer_Release(&view);
    return code;
}

class searcher {
  public:
    searcher(PyTypeObject* function_class, const void* code, thunk_search& out) noexcept
        : function_class_(function_class), code_(code), out_(out) {}

    // Everything is looked at: what a function pointer was cast from comes in any order.
    void look_at(PyObject* object, int depth = 0) {
        if (is_thunk(object)) {
            if (code_of_thunk(object) == code_) out_.thunk = owned(Py_NewRef(object));
            return;
        }
        if (depth > deepest || !seen_.insert(object).second) return;
        if (PyTuple_Check(object)) return look_at_items(object, depth);
        if (PyDict_Check(object)) {
            // A copy: another thread may change what an object keeps.
            owned values(PyDict_Values(object));
            if (!values) return;
            look_at_items(values.get(), depth);
            out_.kept.push_back(std::move(values));
        } else if (PyType_IsSubtype(Py_TYPE(object), data_class(function_class_)) != 0) {
            look_at_data(object, depth);
        }
    }

  private:
    void look_at_items(PyObject* sequence, int depth) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); ++i) {
            look_at(PySequence_Fast_GET_ITEM(sequence, i), depth + 1);
        }
    }

    void look_at_data(PyObject* object, int depth) {
        if (PyType_IsSubtype(Py_TYPE(object), function_class_) != 0 &&
            code_of_function(object) == code_) {
            out_.functions.emplace_back(Py_NewRef(object));
        }
        for (PyObject* name : {name_objects, name_base}) {
            const owned inner = member_of(object, function_class_, name);
            if (inner) look_at(inner.get(), depth + 1);
        }
    }

    PyTypeObject* function_class_;
    const void* code_;
    thunk_search& out_;
    std::unordered_set<PyObject*> seen_;
};

struct referents {
    PyTypeObject* type;
    std::array<PyObject*, 3> found{};
    std::size_t count = 0;
};

int note_referent(PyObject* object, void* into) noexcept {
    auto& all = *static_cast<referents*>(into);
    if (object == reinterpret_cast<PyObject*>(all.type)) return 0;
    if (all.count < all.found.size()) all.found[all.count] = object;
    ++all.count;
    return 0;
}

}  // namespace

bool init_thunks() {
    name_objects = PyUnicode_InternFromString("_objects");
    name_base = PyUnicode_InternFromString("_b_base_");
    return name_objects != nullptr && name_base != nullptr;
}

bool find_thunk(PyObject* function, PyTypeObject* function_class, const void* code,
                thunk_search& out) {
    try {
        searcher(function_class, code, out).look_at(function);
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    }
    return PyErr_Occurred() == nullptr;
}

bool is_window(PyObject* function, PyTypeObject* function_class) {
    return static_cast<bool>(member_of(function, function_class, name_base));
}

owned all_kept(const thunk_search& found) {
    owned all(PyList_New(0));
    for (const owned& values : found.kept) {
        if (all && PyList_Append(all.get(), values.get()) != 0) return owned();
    }
    return all;
}

thunk_prototype prototype_of(PyObject* thunk) noexcept {
    const traverseproc traverse = Py_TYPE(thunk)->tp_traverse;
    referents all{Py_TYPE(thunk)};
    if (traverse != nullptr) traverse(thunk, &note_referent, &all);
    // Its argument types, the Python function, its result type.
    if (all.count != all.found.size() || !PyTuple_Check(all.found[0])) return {};
    return {.restype = all.found[2], .argtypes = all.found[0]};
}

}  // namespace hostlaunch::python
