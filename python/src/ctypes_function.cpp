// SPDX-License-Identifier: Apache-2.0
// What ctypes lets one see of a function pointer: attributes, flags, the buffer with its address.
#include "ctypes_function.hpp"

#include <atomic>
#include <cstring>

namespace hostlaunch::python {
namespace {

// ctypes' flag for code that expects an attached thread (PyDLL, PYFUNCTYPE).
constexpr long flag_python_api = 4;
constexpr int deepest_keepalive = 8;
constexpr const char* thunk_text = "that wraps Python, made by a prototype with";

PyObject* name_restype = nullptr;
PyObject* name_argtypes = nullptr;
PyObject* name_class_restype = nullptr;
PyObject* name_class_argtypes = nullptr;
PyObject* name_flags = nullptr;
PyObject* name_objects = nullptr;

// A class of ctypes that was found before, kept to process end. A match with it is an answer; at
// anything else the class is looked up anew, since a module may have been imported once more.
class known_class {
  public:
    constexpr known_class(const char* module, const char* name) noexcept
        : module_(module), name_(name) {}

    void init() {
        module_name_ = PyUnicode_InternFromString(module_);
        class_name_ = PyUnicode_InternFromString(name_);
    }

    // A borrowed reference, or null.
    PyObject* last() const noexcept { return last_.load(std::memory_order_acquire); }

    // A borrowed reference; null if the module was not imported, or with an exception set.
    PyObject* look_up() {
        const owned module = imported_module(module_name_);
        if (!module) return nullptr;
        PyObject* found = PyObject_GetAttr(module.get(), class_name_);
        if (found == nullptr || found == last()) {
            Py_XDECREF(found);
            return found;
        }
        last_.store(found, std::memory_order_release);
        return found;
    }

  private:
    const char* module_;
    const char* name_;
    PyObject* module_name_ = nullptr;
    PyObject* class_name_ = nullptr;
    std::atomic<PyObject*> last_{nullptr};
};

constinit known_class function_pointer("_ctypes", "CFuncPtr");
constinit known_class void_pointer("ctypes", "c_void_p");

// 1 if the object is the ctypes class c_void_p, 0 if not, -1 with an exception set.
int is_void_pointer(PyObject* object) {
    if (object == void_pointer.last() && object != nullptr) return 1;
    PyObject* current = void_pointer.look_up();
    if (current == nullptr && PyErr_Occurred() == nullptr) {
        const owned loaded(PyImport_ImportModule("ctypes"));
        current = loaded ? void_pointer.look_up() : nullptr;
    }
    if (PyErr_Occurred() != nullptr) return -1;
    return object == current && object != nullptr ? 1 : 0;
}

// Whether `argtypes` is a sequence of exactly (c_void_p,); -1 with an exception set.
int is_one_void_pointer(PyObject* argtypes) {
    if (argtypes == nullptr || argtypes == Py_None || !PySequence_Check(argtypes)) return 0;
    if (PySequence_Size(argtypes) != 1) {
        PyErr_Clear();
        return 0;
    }
    const owned first(PySequence_GetItem(argtypes, 0));
    if (!first) PyErr_Clear();
    return is_void_pointer(first.get());
}

bool wrong_prototype(const char* where, PyObject* restype, PyObject* argtypes) {
    PyErr_Format(PyExc_TypeError,
                 "fn is a ctypes function pointer %s restype=%R, argtypes=%R; a host function "
                 "needs restype=None, argtypes=(ctypes.c_void_p,), that is, "
                 "ctypes.CFUNCTYPE(None, ctypes.c_void_p)",
                 where, restype != nullptr ? restype : Py_None,
                 argtypes != nullptr ? argtypes : Py_None);
    return false;
}

// Checks one declaration: the one in force (on the object) or a prototype's (on its class).
bool check_declaration(PyObject* object, PyObject* restype_name, PyObject* argtypes_name,
                       const char* where) {
    owned restype;
    owned argtypes;
    const int has_restype = find_attribute(object, restype_name, restype);
    if (has_restype < 0 || find_attribute(object, argtypes_name, argtypes) < 0) return false;
    const int right =
        has_restype > 0 && restype.get() == Py_None ? is_one_void_pointer(argtypes.get()) : 0;
    if (right != 0) return right > 0;
    return wrong_prototype(where, restype.get(), argtypes.get());
}

bool check_flags(PyObject* function) {
    owned flags;
    if (find_attribute(reinterpret_cast<PyObject*>(Py_TYPE(function)), name_flags, flags) < 0) {
        return false;
    }
    const long bits = flags && PyLong_Check(flags.get()) ? PyLong_AsLong(flags.get()) : 0;
    if ((bits & flag_python_api) == 0) return true;
    PyErr_SetString(PyExc_TypeError,
                    "fn uses the Python-API calling convention (PYFUNCTYPE or PyDLL), which the "
                    "driver's thread cannot call; declare it with ctypes.CFUNCTYPE(None, "
                    "ctypes.c_void_p)");
    return false;
}

// A ctypes function pointer exports a buffer whose bytes are the code address.
bool read_address(PyObject* function, abi::host_fn* code) {
    Py_buffer view;
    if (PyObject_GetBuffer(function, &view, PyBUF_SIMPLE) != 0) return false;
    const bool fits = view.len == static_cast<Py_ssize_t>(sizeof *code);
    if (fits) std::memcpy(code, view.buf, sizeof *code);
    PyBuffer_Release(&view);
    if (!fits) {
        PyErr_SetString(PyExc_TypeError, "fn is a ctypes function pointer of unknown layout");
        return false;
    }
    if (*code == nullptr) {
        PyErr_SetString(PyExc_ValueError, "fn is a null function pointer");
        return false;
    }
    return true;
}

// Looks for a thunk among what ctypes keeps alive for an object: directly for CFUNCTYPE(...)(f),
// nested for what ctypes.cast made of one.
bool keeps_thunk(PyObject* object, int depth) {
    if (object == nullptr || depth > deepest_keepalive) return false;
    if (std::strcmp(Py_TYPE(object)->tp_name, "_ctypes.CThunkObject") == 0 ||
        std::strcmp(Py_TYPE(object)->tp_name, "CThunkObject") == 0) {
        return true;
    }
    if (PyDict_Check(object)) {
        // A copy: another thread may change what an object keeps.
        const owned values(PyDict_Values(object));
        if (!values) PyErr_Clear();
        for (Py_ssize_t i = 0; values && i < PyList_GET_SIZE(values.get()); ++i) {
            if (keeps_thunk(PyList_GET_ITEM(values.get(), i), depth + 1)) return true;
        }
        return false;
    }
    if (PyTuple_Check(object)) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
            if (keeps_thunk(PyTuple_GET_ITEM(object, i), depth + 1)) return true;
        }
        return false;
    }
    // Only objects of ctypes keep others in this way. One that looks its attributes up elsewhere is
    // not asked: the library of a function is kept too, and would search itself for the name.
    if (!type_has(Py_TYPE(object), name_objects)) return false;
    owned inner;
    if (find_attribute(object, name_objects, inner) < 0) PyErr_Clear();
    return keeps_thunk(inner.get(), depth + 1);
}

// The code of a thunk was made for its prototype, whatever was declared on an object later: the
// class of the function itself and of every function that it was cast from must be CUhostFn.
bool check_thunk_prototypes(PyObject* function) {
    if (!check_declaration(reinterpret_cast<PyObject*>(Py_TYPE(function)), name_class_restype,
                           name_class_argtypes, thunk_text)) {
        return false;
    }
    owned kept;
    if (find_attribute(function, name_objects, kept) < 0) return false;
    if (!kept || !PyDict_Check(kept.get())) return true;
    const owned values(PyDict_Values(kept.get()));
    if (!values) return false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(values.get()); ++i) {
        PyObject* source = PyList_GET_ITEM(values.get(), i);
        const int is_function = source == function ? 0 : is_ctypes_function(source);
        if (is_function < 0) return false;
        if (is_function > 0 && !check_flags(source)) return false;
        if (is_function > 0 &&
            !check_declaration(reinterpret_cast<PyObject*>(Py_TYPE(source)), name_class_restype,
                               name_class_argtypes, thunk_text)) {
            return false;
        }
    }
    return true;
}

}  // namespace

int is_ctypes_function(PyObject* object) {
    PyObject* known = function_pointer.last();
    if (known != nullptr &&
        PyType_IsSubtype(Py_TYPE(object), reinterpret_cast<PyTypeObject*>(known)) != 0) {
        return 1;
    }
    PyObject* base = function_pointer.look_up();
    if (base == nullptr) return PyErr_Occurred() != nullptr ? -1 : 0;
    return PyType_IsSubtype(Py_TYPE(object), reinterpret_cast<PyTypeObject*>(base));
}

bool check_ctypes_function(PyObject* function, abi::host_fn* code, bool* wraps_python) {
    if (!check_flags(function)) return false;
    if (!check_declaration(function, name_restype, name_argtypes, "declared with")) return false;
    if (!read_address(function, code)) return false;
    *wraps_python = keeps_thunk(function, 0);
    return !*wraps_python || check_thunk_prototypes(function);
}

bool init_ctypes_function() {
    name_restype = PyUnicode_InternFromString("restype");
    name_argtypes = PyUnicode_InternFromString("argtypes");
    name_class_restype = PyUnicode_InternFromString("_restype_");
    name_class_argtypes = PyUnicode_InternFromString("_argtypes_");
    name_flags = PyUnicode_InternFromString("_flags_");
    name_objects = PyUnicode_InternFromString("_objects");
    function_pointer.init();
    void_pointer.init();
    return PyErr_Occurred() == nullptr;
}

}  // namespace hostlaunch::python
