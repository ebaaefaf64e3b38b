// SPDX-License-Identifier: Apache-2.0
// Kept thread states, their empty contexts, and their end at thread exit.
#include "cpython/attach.hpp"

#include <cxxabi.h>
#include <pthread.h>

#include "cpython/gil_request.hpp"

namespace hostlaunch::python {
namespace {

// The state and context that this thread keeps. Plain pointers: the end is in end_thread.
thread_local PyThreadState* kept_state = nullptr;
thread_local PyObject* kept_context = nullptr;

pthread_key_t exit_key;
PyInterpreterState* interpreter = nullptr;

PyObject* enter_fresh_context() {
    PyObject* context = PyContext_New();
    if (context == nullptr || PyContext_Enter(context) != 0) {
        PyErr_Clear();  // without a context of its own the callback still runs
        Py_CLEAR(context);
    }
    return context;
}

void leave_context(PyObject* context) {
    // Fails if the callback left another context entered; there is nobody to tell.
    if (PyContext_Exit(context) != 0) PyErr_Clear();
}

// An exception that another thread set for an earlier callback (PyThreadState_SetAsyncExc) and that
// came too late for it must not end the next one. The structure is looked at first: the call walks
// all threads.
void drop_late_exception(PyThreadState* state) {
    if (__atomic_load_n(&state->async_exc, __ATOMIC_RELAXED) == nullptr) return;
    PyThreadState_SetAsyncExc(state->thread_id, nullptr);
}

// Runs on a driver thread that ends. A C function, not a destructor: an attach may unwind it.
extern "C" void end_thread(void*) {
    if (!gate().enter()) return;  // the interpreter ends and clears the state itself
    try {
        PyEval_RestoreThread(kept_state);
        if (kept_context != nullptr) leave_context(kept_context);
        Py_CLEAR(kept_context);
        PyThreadState_Clear(kept_state);
        PyThreadState_DeleteCurrent();
        kept_state = nullptr;
    } catch (::abi::__forced_unwind&) {
        park();
    }
    gate().leave();
}

}  // namespace

attachment attach() {
    attachment a;
    if (kept_state == nullptr) {
        if (PyGILState_GetThisThreadState() != nullptr) {
            begin_wait_for_gil();
            a.nested = PyGILState_Ensure();
            end_wait_for_gil();
            a.entered = enter_fresh_context();
            return a;
        }
        kept_state = PyThreadState_New(interpreter);
        pthread_setspecific(exit_key, kept_state);
    }
    begin_wait_for_gil();
    PyEval_RestoreThread(kept_state);
    end_wait_for_gil();
    drop_late_exception(kept_state);
    if (kept_context == nullptr) kept_context = enter_fresh_context();
    a.kept = true;
    return a;
}

void detach(const attachment& a) {
    if (a.kept) {
        PyEval_SaveThread();
        return;
    }
    PyGILState_Release(a.nested);
}

PyObject* take_dirty_context(attachment& a) {
    PyObject*& context = a.kept ? kept_context : a.entered;
    if (context == nullptr) return nullptr;
    if (a.kept && PyObject_Size(context) == 0) return nullptr;
    leave_context(context);
    PyObject* old = context;
    context = a.kept ? enter_fresh_context() : nullptr;
    return old;
}

void make_main_look() noexcept {
#if PY_VERSION_HEX < 0x030D0000
    if (!gate().enter()) return;
    in_python([] {
        detach(attach());
        return 0;
    });
    gate().leave();
#endif
}

void init_attach() {
    interpreter = PyInterpreterState_Get();
    pthread_key_create(&exit_key, &end_thread);
}

}  // namespace hostlaunch::python
