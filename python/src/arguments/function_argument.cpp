// SPDX-License-Identifier: Apache-2.0
// Decides what kind of host function was given, before anything reaches the driver.
#include "arguments/function_argument.hpp"

#include <cstdlib>

#include "arguments/ctypes_function.hpp"
#include "arguments/foreign_function.hpp"
#include "arguments/named_function.hpp"
#include "arguments/numbers.hpp"
#include "core/task/user_data.hpp"
#include "cpython/attributes.hpp"
#include "cpython/exceptions.hpp"

namespace hostlaunch::python {
namespace {

PyObject* name_func = nullptr;  // "func": what a functools.partial wraps
PyObject* name_call = nullptr;  // "__call__"
PyObject* name_code = nullptr;
PyObject* name_co_flags = nullptr;
PyObject* name_coroutine_mark = nullptr;  // of inspect.markcoroutinefunction
PyObject* name_asyncio_mark = nullptr;    // of older versions of asyncio and unittest.mock
PyObject* partial_type = nullptr;         // functools.partial

constexpr int coroutine_flags = CO_COROUTINE | CO_ITERABLE_COROUTINE;
// Of functions that run nothing when they are called.
constexpr int idle_flags = coroutine_flags | CO_GENERATOR | CO_ASYNC_GENERATOR;

// Marks of the standard library on a function that returns what must be awaited.
bool is_marked(PyObject* function) {
    if (reinterpret_cast<PyFunctionObject*>(function)->func_dict == nullptr) return false;
    owned mark;
    for (PyObject* name : {name_coroutine_mark, name_asyncio_mark}) {
        if (find_attribute(function, name, mark) > 0) return true;
        PyErr_Clear();
    }
    return false;
}

int flags_of_function(PyObject* function) {
    if (is_marked(function)) return CO_COROUTINE;
    // Borrowed, and another thread may replace it: without a GIL, code objects are freed only by
    // the collector, which stops this thread at calls into the interpreter alone.
    return reinterpret_cast<PyCodeObject*>(PyFunction_GetCode(function))->co_flags & idle_flags;
}

// Of an object that passes for a function, as AsyncMock and Cython's functions do.
int flags_of_lookalike(PyObject* fn) {
    owned code;
    owned flags;
    const bool found = find_attribute(fn, name_code, code) > 0 &&
                       find_attribute(code.get(), name_co_flags, flags) > 0 &&
                       PyLong_Check(flags.get());
    const long bits = found ? PyLong_AsLong(flags.get()) : 0;
    const bool failed = PyErr_Occurred() != nullptr;
    PyErr_Clear();
    return failed ? 0 : static_cast<int>(bits & idle_flags);
}

// Which of idle_flags the code has that a call of fn enters: functions, bound methods, partials
// (nested ones too) and objects whose type has such a __call__. -1: an exception is set.
int flags_of_call(PyObject* fn, int depth = 0) {
    if (PyFunction_Check(fn)) return flags_of_function(fn);
    if (PyMethod_Check(fn)) return flags_of_call(PyMethod_GET_FUNCTION(fn), depth + 1);
    if (PyCFunction_Check(fn) || PyType_Check(fn) || depth > 16) return 0;
    owned inner;
    const bool is_partial =
        PyType_IsSubtype(Py_TYPE(fn), reinterpret_cast<PyTypeObject*>(partial_type)) != 0;
    if (!is_partial) {
        const int flags = flags_of_lookalike(fn);
        if (flags != 0) return flags;
    }
    PyObject* where = is_partial ? fn : reinterpret_cast<PyObject*>(Py_TYPE(fn));
    const int found = find_attribute(where, is_partial ? name_func : name_call, inner);
    if (found <= 0) return found;
    const bool is_slot = !PyFunction_Check(inner.get()) && !PyMethod_Check(inner.get()) &&
                         PyType_HasFeature(Py_TYPE(inner.get()), Py_TPFLAGS_HEAPTYPE) == 0;
    return !is_partial && is_slot ? 0 : flags_of_call(inner.get(), depth + 1);
}

bool refuse_idle(PyObject* fn, int flags) {
    const owned text = shown(fn);
    if (!text) return false;
    if ((flags & coroutine_flags) != 0) {
        PyErr_Format(PyExc_TypeError,
                     "fn must not be a coroutine function (%U): nothing would await what it "
                     "returns. Pass a plain function, for example one that calls "
                     "loop.call_soon_threadsafe",
                     text.get());
    } else {
        PyErr_Format(PyExc_TypeError,
                     "fn must not be %s (%U): a call of it runs nothing, and nothing would iterate "
                     "over what it returns. Pass a plain function that does",
                     (flags & CO_ASYNC_GENERATOR) != 0 ? "an async generator function"
                                                       : "a generator function",
                     text.get());
    }
    return false;
}

bool check_callable(PyObject* fn, PyObject* user_data) {
    if (!PyCallable_Check(fn)) {
        PyErr_Format(PyExc_TypeError,
                     "fn must be a Python callable that takes no arguments, or a ctypes function "
                     "pointer of type CFUNCTYPE(None, c_void_p), not %.200s%s",
                     Py_TYPE(fn)->tp_name,
                     PyLong_Check(fn) ? "; wrap an address with ctypes.CFUNCTYPE(None, "
                                        "ctypes.c_void_p)(address)"
                                      : "");
        return false;
    }
    const int flags = flags_of_call(fn);
    if (flags < 0) return false;
    if (flags > 0) return refuse_idle(fn, flags);
    if (user_data != nullptr && user_data != Py_None) {
        PyErr_SetString(PyExc_ValueError,
                        "user_data is only for ctypes function pointers; with a Python callable "
                        "use a closure, a bound method or functools.partial");
        return false;
    }
    return true;
}

bool is_instance_of(PyObject* object, const char* module_name, const char* class_name) {
    const owned name(PyUnicode_InternFromString(module_name));
    const owned module = name ? imported_module(name.get()) : owned();
    if (!module) PyErr_Clear();
    if (!module) return false;  // no such object can exist
    const owned cls(PyObject_GetAttrString(module.get(), class_name));
    if (!cls) {
        PyErr_Clear();
        return false;
    }
    const int is = PyObject_IsInstance(object, cls.get());
    if (is < 0) PyErr_Clear();
    return is > 0;
}

// Scalars that export a buffer, so that they could mean their value or their bytes.
bool is_ambiguous(PyObject* object) {
    return PyBool_Check(object) || is_instance_of(object, "numpy", "generic") ||
           is_instance_of(object, "_ctypes", "_SimpleCData") ||
           is_instance_of(object, "_ctypes", "_Pointer") ||
           is_instance_of(object, "_ctypes", "CFuncPtr");
}

bool take_pointer(PyObject* number, function_argument& out) {
    unsigned long pointer = 0;
    if (!fits_unsigned(number, &pointer)) {
        PyErr_SetString(PyExc_OverflowError,
                        "user_data as an int is a pointer: it must be from 0 to 2**64 - 1");
        return false;
    }
    out.user_data = reinterpret_cast<void*>(pointer);
    return true;
}

// Exporters that cannot give contiguous memory say so by BufferError; NumPy says ValueError. Others
// (a released memoryview, a closed mmap) say by ValueError that there is nothing to give: their
// words are kept.
bool refuse_buffer(PyObject* exporter) {
    if (PyErr_ExceptionMatches(PyExc_ValueError) == 0) return false;
    PyObject* cause = take_exception();
    const bool strided = is_instance_of(exporter, "numpy", "ndarray");
    PyErr_Format(PyExc_BufferError,
                 strided ? "user_data must be C-contiguous: %S" : "user_data has no memory: %S",
                 cause);
    PyObject* raised = take_exception();
    PyException_SetCause(raised, cause);
    restore_exception(raised);
    return false;
}

bool take_copy(PyObject* exporter, function_argument& out) {
    Py_buffer view;
    const int failed = in_python([&] { return PyObject_GetBuffer(exporter, &view, PyBUF_SIMPLE); });
    if (failed != 0) return refuse_buffer(exporter);
    const std::span bytes(static_cast<const std::byte*>(view.buf),
                          static_cast<std::size_t>(view.len));
    out.copy = core::copy_user_data(bytes);
    PyBuffer_Release(&view);
    out.user_data = out.copy;
    if (out.copy != nullptr || bytes.empty()) return true;
    PyErr_NoMemory();
    return false;
}

bool check_user_data(PyObject* user_data, function_argument& out) {
    if (user_data == nullptr || user_data == Py_None) return true;
    if (PyLong_CheckExact(user_data)) return take_pointer(user_data, out);
    if (PyBytes_CheckExact(user_data)) return take_copy(user_data, out);
    if (is_ambiguous(user_data)) {
        PyErr_Format(PyExc_TypeError,
                     "user_data of type %.200s could mean its value or its bytes: write int(x) to "
                     "pass a pointer, or bytes(x) to pass a copy",
                     Py_TYPE(user_data)->tp_name);
        return false;
    }
    if (PyLong_Check(user_data)) return take_pointer(user_data, out);
    if (PyObject_CheckBuffer(user_data)) return take_copy(user_data, out);
    if (is_number(user_data)) {
        const owned number = to_int(user_data, "user_data");
        return number && take_pointer(number.get(), out);
    }
    PyErr_Format(PyExc_TypeError,
                 "user_data must be None, an int (a pointer), or a bytes-like object (copied), not "
                 "%.200s",
                 Py_TYPE(user_data)->tp_name);
    return false;
}

// 1: fn is a pointer to compiled code, 0: it is none, -1 with an exception set.
int check_native(PyObject* fn, native_function& out) {
    const int ctypes = is_ctypes_function(fn);
    if (ctypes > 0) return check_ctypes_function(fn, out) ? 1 : -1;
    return ctypes == 0 ? check_foreign_function(fn, out) : ctypes;
}

}  // namespace

function_argument::~function_argument() {
    std::free(copy);
}

// As what it names; where that is code, both are kept.
static bool check_named(PyObject* fn, PyObject* user_data, function_argument& out) {
    const owned inner = function_of_named(fn);
    if (!inner || !check_function(inner.get(), user_data, out)) return false;
    if (out.kind == function_kind::callable) return true;
    PyObject* also = out.kept ? out.kept.get() : Py_None;
    out.kept = owned(PyTuple_Pack(3, fn, inner.get(), also));
    return static_cast<bool>(out.kept);
}

bool check_function(PyObject* fn, PyObject* user_data, function_argument& out) {
    // The common kinds first: none of them is a ctypes object.
    if (PyFunction_Check(fn) || PyMethod_Check(fn) || PyCFunction_Check(fn)) {
        return check_callable(fn, user_data);
    }
    if (is_named(fn)) return check_named(fn, user_data, out);
    native_function function;
    const int is_native = check_native(fn, function);
    if (is_native < 0) return false;
    if (is_native == 0) return check_callable(fn, user_data);
    out.code = function.code;
    out.kind = function.wraps_python ? function_kind::thunk
               : function.in_library ? function_kind::compiled
                                     : function_kind::unknown_code;
    if (function.kept) out.kept = owned(PyTuple_Pack(2, fn, function.kept.get()));
    return PyErr_Occurred() == nullptr && check_user_data(user_data, out);
}

bool check_function_with_arguments(PyObject* fn) {
    if (!PyCallable_Check(fn)) {
        PyErr_Format(PyExc_TypeError, "fn must be callable, not %.200s", Py_TYPE(fn)->tp_name);
        return false;
    }
    const int flags = flags_of_call(fn);
    return flags == 0 || (flags > 0 && refuse_idle(fn, flags));
}

bool init_function_argument() {
    name_func = PyUnicode_InternFromString("func");
    name_call = PyUnicode_InternFromString("__call__");
    name_code = PyUnicode_InternFromString("__code__");
    name_co_flags = PyUnicode_InternFromString("co_flags");
    name_coroutine_mark = PyUnicode_InternFromString("_is_coroutine_marker");
    name_asyncio_mark = PyUnicode_InternFromString("_is_coroutine");
    const owned functools(PyImport_ImportModule("functools"));
    if (!functools) return false;
    partial_type = PyObject_GetAttrString(functools.get(), "partial");
    return partial_type != nullptr && PyErr_Occurred() == nullptr && init_ctypes_function() &&
           init_foreign_function();
}

}  // namespace hostlaunch::python
