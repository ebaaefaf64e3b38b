// SPDX-License-Identifier: Apache-2.0
// Each maker tells the signature in its own way: cffi and capsules by C's words, numba by ctypes.
#include "arguments/foreign_function.hpp"

#include <string>
#include <string_view>

#include "arguments/ctypes_function.hpp"
#include "cpython/attributes.hpp"

namespace hostlaunch::python {
namespace {

PyObject* name_cffi = nullptr;  // "_cffi_backend"
PyObject* name_data_class = nullptr;
PyObject* name_typeof = nullptr;
PyObject* name_cname = nullptr;
PyObject* name_numba = nullptr;  // "numba.core.ccallback"
PyObject* name_cfunc = nullptr;
PyObject* name_ctypes = nullptr;

int refuse(const char* what, const char* signature) {
    PyErr_Format(PyExc_TypeError,
                 "fn is a %s with the signature '%.200s'; a host function needs 'void (void *)'",
                 what, signature);
    return -1;
}

int take_address(void* code, bool wraps_python, native_function& out) {
    if (code == nullptr) {
        PyErr_SetString(PyExc_ValueError, "fn is a null function pointer");
        return -1;
    }
    out.code = reinterpret_cast<abi::host_fn>(code);
    out.wraps_python = wraps_python;
    out.in_library = is_in_loaded_library(out.code);
    return 1;
}

// Cython and SciPy name a capsule with a pointer to a C function after its signature; spaces do not
// count.
int check_capsule(PyObject* fn, native_function& out) {
    const char* name = PyCapsule_GetName(fn);
    std::string signature = name != nullptr ? name : "";
    std::erase(signature, ' ');
    if (signature != "void(void*)") return refuse("PyCapsule", name != nullptr ? name : "");
    return take_address(PyCapsule_GetPointer(fn, name), false, out);
}

// Whether an object is of a class that a module has, which need not be imported: then none is.
int is_of_class(PyObject* object, PyObject* module_name, PyObject* class_name, owned& module) {
    module = imported_module(module_name);
    if (!module) return 0;
    owned cls;
    if (find_attribute(module.get(), class_name, cls) < 0) return -1;
    return cls && PyType_Check(cls.get()) &&
           PyType_IsSubtype(Py_TYPE(object), reinterpret_cast<PyTypeObject*>(cls.get())) != 0;
}

bool is_text(PyObject* object, const char* text) {
    return object != nullptr && PyUnicode_Check(object) &&
           PyUnicode_CompareWithASCIIString(object, text) == 0;
}

// The code address of a function pointer, as cffi casts it.
bool read_cffi_address(PyObject* module, PyObject* fn, void** code) {
    const owned type(PyObject_CallMethod(module, "new_primitive_type", "s", "uintptr_t"));
    const owned number(type ? PyObject_CallMethod(module, "cast", "OO", type.get(), fn) : nullptr);
    const owned address(number ? PyNumber_Long(number.get()) : nullptr);
    if (!address) return false;
    *code = PyLong_AsVoidPtr(address.get());
    return PyErr_Occurred() == nullptr;
}

// A function pointer that owns something is what ffi.callback made: it calls Python.
bool is_callback(PyObject* fn) {
    return std::string_view(Py_TYPE(fn)->tp_name).find("OwnGC") != std::string_view::npos;
}

// Every object of cffi passes for callable, so one that is no function pointer is refused here.
int check_cffi(PyObject* module, PyObject* fn, native_function& out) {
    const owned type(PyObject_CallMethodOneArg(module, name_typeof, fn));
    owned signature;
    if (!type || find_attribute(type.get(), name_cname, signature) < 0) return -1;
    if (!is_text(signature.get(), "void(*)(void *)")) {
        const char* text = signature ? PyUnicode_AsUTF8(signature.get()) : "";
        return text != nullptr ? refuse("cffi object", text) : -1;
    }
    void* code = nullptr;
    return read_cffi_address(module, fn, &code) ? take_address(code, is_callback(fn), out) : -1;
}

// Its ctypes pointer has the declaration; the object itself keeps the code.
int check_numba(PyObject* fn, native_function& out) {
    owned pointer;
    const int found = find_attribute(fn, name_ctypes, pointer);
    const int is_pointer = found > 0 ? is_ctypes_function(pointer.get()) : found;
    if (is_pointer <= 0) return is_pointer;
    return check_ctypes_function(pointer.get(), out) ? 1 : -1;
}

}  // namespace

// The names of the types come first: most callables are neither, and a module is looked up by name.
int check_foreign_function(PyObject* fn, native_function& out) {
    if (PyCapsule_CheckExact(fn)) return check_capsule(fn, out);
    const std::string_view type = Py_TYPE(fn)->tp_name;
    owned module;
    if (type.starts_with("_cffi_backend.")) {
        const int is = is_of_class(fn, name_cffi, name_data_class, module);
        return is > 0 ? check_cffi(module.get(), fn, out) : is;
    }
    if (type != "CFunc") return 0;
    const int is = is_of_class(fn, name_numba, name_cfunc, module);
    return is > 0 ? check_numba(fn, out) : is;
}

bool init_foreign_function() {
    name_cffi = PyUnicode_InternFromString("_cffi_backend");
    name_data_class = PyUnicode_InternFromString("_CDataBase");
    name_typeof = PyUnicode_InternFromString("typeof");
    name_cname = PyUnicode_InternFromString("cname");
    name_numba = PyUnicode_InternFromString("numba.core.ccallback");
    name_cfunc = PyUnicode_InternFromString("CFunc");
    name_ctypes = PyUnicode_InternFromString("ctypes");
    return PyErr_Occurred() == nullptr;
}

}  // namespace hostlaunch::python
