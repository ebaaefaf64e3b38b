// SPDX-License-Identifier: Apache-2.0
// The least that a launch from Python can cost: an extension module that does one more thing from
// function to function. It checks nothing, so it is for the benchmarks alone.
//
// The thread state that `kept` callbacks run with stays with the driver's thread, as it does in
// hostlaunch; those of `made` callbacks are made and deleted for each of them, as other libraries
// do. A process uses only one of the two.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

typedef void (*host_fn)(void*);

static int (*launch)(void*, host_fn, void*);  // bare_launch_checked
static int (*synchronize)(void*);
static host_fn compiled_nothing;

static PyInterpreterState* interpreter;
static __thread PyThreadState* kept;

static void call_and_drop(void* fn) {
    PyObject* result = PyObject_CallNoArgs(fn);
    if (result == NULL) PyErr_WriteUnraisable(fn);
    Py_XDECREF(result);
    Py_DECREF((PyObject*)fn);
}

static void call_kept(void* fn) {
    if (kept == NULL) kept = PyThreadState_New(interpreter);
    PyEval_RestoreThread(kept);
    call_and_drop(fn);
    PyEval_SaveThread();
}

static void attach_kept(void* fn) {
    (void)fn;
    if (kept == NULL) kept = PyThreadState_New(interpreter);
    PyEval_RestoreThread(kept);
    PyEval_SaveThread();
}

static void call_made(void* fn) {
    const PyGILState_STATE state = PyGILState_Ensure();
    call_and_drop(fn);
    PyGILState_Release(state);
}

static PyObject* checked(int code) {
    if (code == 0) Py_RETURN_NONE;
    return PyErr_Format(PyExc_RuntimeError, "the driver answered %d", code);
}

static PyObject* launch_detached(PyObject* stream, host_fn fn, void* data) {
    void* handle = PyLong_AsVoidPtr(stream);
    int code;
    Py_BEGIN_ALLOW_THREADS code = launch(handle, fn, data);
    Py_END_ALLOW_THREADS return checked(code);
}

static PyObject* nothing(PyObject* self, PyObject* const* args, Py_ssize_t n) {
    (void)self, (void)args, (void)n;
    Py_RETURN_NONE;
}

static PyObject* detach(PyObject* self, PyObject* const* args, Py_ssize_t n) {
    (void)self, (void)args, (void)n;
    Py_BEGIN_ALLOW_THREADS Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

static PyObject* launch_compiled(PyObject* self, PyObject* const* args, Py_ssize_t n) {
    (void)self, (void)n;
    return launch_detached(args[0], compiled_nothing, NULL);
}

static PyObject* launch_attaching(PyObject* self, PyObject* const* args, Py_ssize_t n) {
    (void)self, (void)n;
    return launch_detached(args[0], attach_kept, NULL);
}

static PyObject* launch_kept(PyObject* self, PyObject* const* args, Py_ssize_t n) {
    (void)self, (void)n;
    return launch_detached(args[0], call_kept, Py_NewRef(args[1]));
}

static PyObject* launch_made(PyObject* self, PyObject* const* args, Py_ssize_t n) {
    (void)self, (void)n;
    return launch_detached(args[0], call_made, Py_NewRef(args[1]));
}

static PyObject* wait_for(PyObject* self, PyObject* stream) {
    (void)self;
    void* handle = PyLong_AsVoidPtr(stream);
    int code;
    Py_BEGIN_ALLOW_THREADS code = synchronize(handle);
    Py_END_ALLOW_THREADS return checked(code);
}

// use(launch, synchronize, nothing): the addresses of bare.c's functions.
static PyObject* use(PyObject* self, PyObject* const* args, Py_ssize_t n) {
    (void)self;
    if (n != 3) return PyErr_Format(PyExc_TypeError, "three addresses are needed");
    *(void**)&launch = PyLong_AsVoidPtr(args[0]);
    *(void**)&synchronize = PyLong_AsVoidPtr(args[1]);
    *(void**)&compiled_nothing = PyLong_AsVoidPtr(args[2]);
    interpreter = PyInterpreterState_Get();
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}

#define FAST(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
static PyMethodDef methods[] = {
    FAST(nothing),
    FAST(detach),
    FAST(launch_compiled),
    FAST(launch_attaching),
    FAST(launch_kept),
    FAST(launch_made),
    FAST(use),
    {"sync", wait_for, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "launch_steps", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_launch_steps(void) {
    return PyModule_Create(&definition);
}
