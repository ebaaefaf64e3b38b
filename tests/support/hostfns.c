// SPDX-License-Identifier: Apache-2.0
// Compiled host functions for the tests of launches as they are, and what they have seen.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ORDER_CAPACITY 65536

static int counter;
static int block_entered;
static int block_open;
static int attached = -1;
static long thread_id;
static int order_count;
static uintptr_t order[ORDER_CAPACITY];
static uintptr_t seen_pointer;
static unsigned char seen_bytes[64];
static uint64_t seen_sum;
static int sitting;
static int let_go;

static void sleep_ms(long ms) {
    struct timespec pause = {ms / 1000, (ms % 1000) * 1000000};
    nanosleep(&pause, NULL);
}

static int wait_at_least(int* value, int wanted, int timeout_ms) {
    for (int waited = 0; __atomic_load_n(value, __ATOMIC_ACQUIRE) < wanted; ++waited) {
        if (waited >= timeout_ms) return 0;
        sleep_ms(1);
    }
    return 1;
}

// --- host functions ---

// Counts its runs.
void hf_count(void* user) {
    (void)user;
    __atomic_fetch_add(&counter, 1, __ATOMIC_ACQ_REL);
}

// Notes the pointer and copies the 64 bytes behind it; counts.
void hf_copy64(void* user) {
    seen_pointer = (uintptr_t)user;
    if (user != NULL) memcpy(seen_bytes, user, sizeof seen_bytes);
    hf_count(user);
}

// Notes the pointer only; counts.
void hf_note(void* user) {
    seen_pointer = (uintptr_t)user;
    hf_count(user);
}

// Adds up the n bytes that follow the 8-byte number n; counts.
void hf_sum(void* user) {
    uint64_t size = 0;
    uint64_t sum = 0;
    memcpy(&size, user, sizeof size);
    const unsigned char* bytes = (const unsigned char*)user + sizeof size;
    for (uint64_t i = 0; i < size; ++i)
        sum = sum * 31 + bytes[i];
    seen_pointer = (uintptr_t)user;
    seen_sum = sum;
    hf_count(user);
}

// Holds the stream until hf_open.
void hf_block(void* user) {
    (void)user;
    __atomic_fetch_add(&block_entered, 1, __ATOMIC_ACQ_REL);
    wait_at_least(&block_open, 1, 60000);
}

// Sleeps so many milliseconds; counts.
void hf_sleep(void* user) {
    sleep_ms((long)(uintptr_t)user);
    hf_count(user);
}

// Whether the calling thread holds the GIL; -1 without Python.
static int holds_gil(void) {
    int (*check)(void) = NULL;
    void* symbol = dlsym(RTLD_DEFAULT, "PyGILState_Check");
    memcpy(&check, &symbol, sizeof check);
    return check != NULL ? check() : -1;
}

// Notes its thread, and whether that holds the GIL; counts.
void hf_identify(void* user) {
    attached = holds_gil();
    thread_id = syscall(SYS_gettid);
    hf_count(user);
}

// An entry check of the embedded driver (control.hpp) that tells at once, on stderr: whoever would
// ask for the count ends before the last calls. Once the interpreter is gone PyGILState_Check is
// always true, but no thread has a state any more.
int hf_report_gil(void) {
    void* (*state)(void) = NULL;
    void* symbol = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
    memcpy(&state, &symbol, sizeof state);
    if (state() == NULL || !holds_gil()) return 0;
    const char line[] = "a driver call with the GIL held\n";
    return write(2, line, sizeof line - 1) != 0;
}

// A pending call that does nothing.
int hf_nothing(void* user) {
    (void)user;
    return 0;
}

// Appends the pointer to the list that hf_order gives.
void hf_append(void* user) {
    const int at = __atomic_fetch_add(&order_count, 1, __ATOMIC_ACQ_REL);
    if (at < ORDER_CAPACITY) order[at] = (uintptr_t)user;
}

// Prints a line, so that a process that is about to end can be told to have run it.
void hf_print(void* user) {
    (void)user;
    const char line[] = "as is\n";
    if (write(1, line, sizeof line - 1) < 0) return;
}

// Keeps a Python thread state on its thread, as other libraries do; counts.
void hf_pin_state(void* user) {
    int (*ensure)(void) = NULL;
    void* (*save)(void) = NULL;
    void* symbol = dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
    memcpy(&ensure, &symbol, sizeof ensure);
    symbol = dlsym(RTLD_DEFAULT, "PyEval_SaveThread");
    memcpy(&save, &symbol, sizeof save);
    ensure();
    save();
    hf_count(user);
}

// --- what they have seen ---

void hf_reset(void) {
    counter = block_entered = block_open = order_count = 0;
    attached = -1;
    thread_id = 0;
    seen_pointer = 0;
    seen_sum = 0;
    memset(seen_bytes, 0, sizeof seen_bytes);
}

int hf_counter(void) {
    return __atomic_load_n(&counter, __ATOMIC_ACQUIRE);
}
int hf_wait_count(int wanted, int timeout_ms) {
    return wait_at_least(&counter, wanted, timeout_ms);
}
int hf_wait_blocked(int timeout_ms) {
    return wait_at_least(&block_entered, 1, timeout_ms);
}
void hf_open(void) {
    __atomic_store_n(&block_open, 1, __ATOMIC_RELEASE);
}

// For a main thread that must not run bytecode: sits in C code until another thread lets it go.
int hf_sit(int timeout_ms) {
    __atomic_store_n(&let_go, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&sitting, 1, __ATOMIC_RELEASE);
    const int told = wait_at_least(&let_go, 1, timeout_ms);
    __atomic_store_n(&sitting, 0, __ATOMIC_RELEASE);
    return told;
}
int hf_wait_sitting(int timeout_ms) {
    return wait_at_least(&sitting, 1, timeout_ms);
}
void hf_let_go(void) {
    __atomic_store_n(&let_go, 1, __ATOMIC_RELEASE);
}
int hf_attached(void) {
    return attached;
}
long hf_thread(void) {
    return thread_id;
}
uintptr_t hf_seen_pointer(void) {
    return seen_pointer;
}
uint64_t hf_seen_sum(void) {
    return seen_sum;
}
void hf_seen_bytes(void* out) {
    memcpy(out, seen_bytes, sizeof seen_bytes);
}
int hf_order(uintptr_t* out, int room) {
    const int count = __atomic_load_n(&order_count, __ATOMIC_ACQUIRE);
    for (int i = 0; i < count && i < room; ++i)
        out[i] = order[i];
    return count;
}

// Forks without Python's knowledge; the child, which must run no Python, exits through the exit
// handlers of C. Returns the child's id.
int hf_fork_and_exit(int code) {
    const pid_t child = fork();
    if (child != 0) return child;
    alarm(20);
    exit(code);
}

// --- the interpreter's queue of pending calls ---

// Fills the queue and returns how many calls fitted. On the main thread call it with the GIL held.
int hf_fill_pending(void) {
    int (*add)(int (*)(void*), void*) = NULL;
    void* symbol = dlsym(RTLD_DEFAULT, "Py_AddPendingCall");
    memcpy(&add, &symbol, sizeof add);
    int added = 0;
    while (added < 1000 && add(hf_nothing, NULL) == 0)
        ++added;
    return added;
}

#ifdef __cplusplus
}
#endif
