// SPDX-License-Identifier: Apache-2.0
// What ctypes lets one see of a function pointer: attributes, flags, the buffer with its address.
#include "arguments/ctypes_function.hpp"

#include <atomic>
#include <cstring>

#include "cpython/attributes.hpp"
#include "cpython/exceptions.hpp"
#include "cpython/thunks.hpp"

namespace hostlaunch::python {
namespace {

// ctypes' flag for code that expects an attached thread (PyDLL, PYFUNCTYPE).
constexpr long flag_python_api = 4;
constexpr const char* thunk_text = "that wraps Python, made by a prototype with";

PyObject* name_restype = nullptr;
PyObject* name_argtypes = nullptr;
PyObject* name_flags = nullptr;

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
    const owned result = shown(restype != nullptr ? restype : Py_None);
    const owned arguments = shown(argtypes != nullptr ? argtypes : Py_None);
    if (!result || !arguments) return false;
    PyErr_Format(PyExc_TypeError,
                 "fn is a ctypes function pointer %s restype=%U, argtypes=%U; a host function "
                 "needs restype=None, argtypes=(ctypes.c_void_p,), that is, "
                 "ctypes.CFUNCTYPE(None, ctypes.c_void_p)",
                 where, result.get(), arguments.get());
    return false;
}

// Checks the declaration in force.
bool check_declaration(PyObject* object) {
    owned restype;
    owned argtypes;
    const int has_restype = find_attribute(object, name_restype, restype);
    if (has_restype < 0 || find_attribute(object, name_argtypes, argtypes) < 0) return false;
    const int right =
        has_restype > 0 && restype.get() == Py_None ? is_one_void_pointer(argtypes.get()) : 0;
    if (right != 0) return right > 0;
    return wrong_prototype("declared with", restype.get(), argtypes.get());
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

// The code of a thunk was made for its prototype, whatever was declared on an object later, and for
// the calling convention of the function pointers that it went through.
bool check_thunk(const thunk_search& found) {
    for (const owned& function : found.functions) {
        if (!check_flags(function.get())) return false;
    }
    const thunk_prototype made_for = prototype_of(found.thunk.get());
    const int right = made_for.restype == Py_None ? is_one_void_pointer(made_for.argtypes) : 0;
    if (right != 0) return right > 0;
    return wrong_prototype(thunk_text, made_for.restype, made_for.argtypes);
}

// What must live for the code to live, besides the function pointer itself.
bool keep_code(PyObject* function, PyTypeObject* base, native_function& out) {
    thunk_search found;
    if (!find_thunk(function, base, reinterpret_cast<void*>(out.code), found)) return false;
    out.wraps_python = static_cast<bool>(found.thunk);
    if (out.wraps_python && !check_thunk(found)) return false;
    if (!is_window(function, base)) return true;
    out.kept = out.wraps_python ? std::move(found.thunk) : all_kept(found);
    return static_cast<bool>(out.kept);
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

bool check_ctypes_function(PyObject* function, native_function& out) {
    if (!check_flags(function)) return false;
    if (!check_declaration(function)) return false;
    if (!read_address(function, &out.code)) return false;
    // Nothing of ctypes keeps a library loaded, and no thunk lies in one.
    out.in_library = is_in_loaded_library(out.code);
    return out.in_library ||
           keep_code(function, reinterpret_cast<PyTypeObject*>(function_pointer.last()), out);
}

bool init_ctypes_function() {
    name_restype = PyUnicode_InternFromString("restype");
    name_argtypes = PyUnicode_InternFromString("argtypes");
    name_flags = PyUnicode_InternFromString("_flags_");
    function_pointer.init();
    void_pointer.init();
    return init_thunks() && PyErr_Occurred() == nullptr;
}

}  // namespace hostlaunch::python
