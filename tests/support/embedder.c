// SPDX-License-Identifier: Apache-2.0
/* A program that embeds Python: embedder THREAD FIRST LAST. THREAD says which one initialises and
 * ends the interpreter: "main", the process's first, or "other". There it runs the code LAST, after
 * FIRST has been run on a thread that Python has not seen before. */
#include <Python.h>
#include <pthread.h>
#include <string.h>

static int failed = 0;

static void* run_first(void* code) {
    PyGILState_STATE state = PyGILState_Ensure();
    failed |= PyRun_SimpleString(code) != 0;
    PyGILState_Release(state);
    return NULL;
}

static void* run_all(void* arguments) {
    char** codes = arguments;
    pthread_t thread;
    PyThreadState* state;
    Py_Initialize();
    state = PyEval_SaveThread();
    pthread_create(&thread, NULL, run_first, codes[0]);
    pthread_join(thread, NULL);
    PyEval_RestoreThread(state);
    failed |= PyRun_SimpleString(codes[1]) != 0;
    failed |= Py_FinalizeEx() != 0;
    return NULL;
}

int main(int count, char** arguments) {
    pthread_t thread;
    if (count != 4) return 2;
    if (strcmp(arguments[1], "main") == 0) {
        run_all(arguments + 2);
    } else {
        pthread_create(&thread, NULL, run_all, arguments + 2);
        pthread_join(thread, NULL);
    }
    return failed;
}
