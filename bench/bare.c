// SPDX-License-Identifier: Apache-2.0
// The driver called from C: entry points by cuGetProcAddress, loops, gate and stamps.
#define _GNU_SOURCE
#include "bare.h"

#include <dlfcn.h>
#include <sched.h>
#include <semaphore.h>
#include <stddef.h>
#include <time.h>

typedef int (*get_proc_fn)(const char*, void**, int, uint64_t, int*);

static void* library;
static int (*is_capturing)(struct CUstream_st*, int*);
static int (*launch_host_func)(struct CUstream_st*, bare_host_fn, void*);
static int (*synchronize)(struct CUstream_st*);
static int (*add_callback)(struct CUstream_st*, bare_stream_callback, void*, unsigned);
static int (*device_name)(char*, int, int);

static int find(get_proc_fn get, const char* name, int version, void* slot) {
    void* found = NULL;
    if (get(name, &found, version, 0, NULL) != 0 || found == NULL) return 1;
    *(void**)slot = found;
    return 0;
}

int bare_load(const char* path) {
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return 1;
    get_proc_fn get = NULL;
    *(void**)&get = dlsym(library, "cuGetProcAddress_v2");
    return get == NULL || find(get, "cuStreamIsCapturing", 10000, &is_capturing) ||
           find(get, "cuLaunchHostFunc", 10000, &launch_host_func) ||
           find(get, "cuStreamSynchronize", 2000, &synchronize) ||
           find(get, "cuStreamAddCallback", 5000, &add_callback) ||
           find(get, "cuDeviceGetName", 2000, &device_name);
}

void* bare_symbol(const char* name) {
    return dlsym(library, name);
}

int bare_device_name(char* out, int room) {
    return device_name(out, room, 0);
}

int64_t bare_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int bare_launch(struct CUstream_st* stream, bare_host_fn fn, void* user_data) {
    return launch_host_func(stream, fn, user_data);
}

int bare_synchronize(struct CUstream_st* stream) {
    return synchronize(stream);
}

int bare_add_callback(struct CUstream_st* stream, bare_stream_callback fn, void* user_data) {
    return add_callback(stream, fn, user_data, 0);
}

void bare_nothing(void* user_data) {
    (void)user_data;
}

int bare_launch_checked(struct CUstream_st* stream, bare_host_fn fn, void* user_data) {
    int capturing = 0;
    const int code = is_capturing(stream, &capturing);
    if (code != 0 || capturing != 0) return code != 0 ? code : -1;
    return launch_host_func(stream, fn, user_data);
}

static int launch_checked(struct CUstream_st* stream) {
    return bare_launch_checked(stream, bare_nothing, NULL);
}

int64_t bare_enqueue(struct CUstream_st* stream, int calls, int checked) {
    const int64_t begin = bare_now();
    if (checked) {
        for (int i = 0; i < calls; ++i) {
            if (launch_checked(stream) != 0) return -1;
        }
    } else {
        for (int i = 0; i < calls; ++i) {
            if (launch_host_func(stream, bare_nothing, NULL) != 0) return -1;
        }
    }
    return bare_now() - begin;
}

int bare_round_trips(struct CUstream_st* stream, int trips, int64_t* out) {
    for (int i = 0; i < trips; ++i) {
        const int64_t begin = bare_now();
        int code = launch_checked(stream);
        if (code == 0) code = synchronize(stream);
        if (code != 0) return code;
        out[i] = bare_now() - begin;
    }
    return 0;
}

static int gate_reached;
static sem_t gate;

// Sleeps: a thread that spins slows down the one that launches, if they share a core.
static void wait_at_gate(void* user_data) {
    (void)user_data;
    __atomic_store_n(&gate_reached, 1, __ATOMIC_RELEASE);
    while (sem_wait(&gate) != 0)
        continue;
}

int bare_block(struct CUstream_st* stream) {
    __atomic_store_n(&gate_reached, 0, __ATOMIC_RELAXED);
    sem_init(&gate, 0, 0);
    const int code = launch_host_func(stream, wait_at_gate, NULL);
    if (code != 0) return code;
    while (__atomic_load_n(&gate_reached, __ATOMIC_ACQUIRE) == 0)
        sched_yield();
    return 0;
}

void bare_open_gate(void) {
    sem_post(&gate);
}

static void pause_briefly(void* user_data) {
    (void)user_data;
    const struct timespec briefly = {0, 2500000};
    nanosleep(&briefly, NULL);
}

int bare_pause(struct CUstream_st* stream) {
    return launch_host_func(stream, pause_briefly, NULL);
}

static volatile int64_t stamps[2] = {1, 1};

static void read_clock(void* user_data) {
    *(volatile int64_t*)user_data = bare_now();
}

int bare_stamp(struct CUstream_st* stream, int which) {
    stamps[which] = 0;
    return launch_host_func(stream, read_clock, (void*)&stamps[which]);
}

int64_t bare_stamped(void) {
    return stamps[1] - stamps[0];
}

volatile int64_t* bare_second_stamp(void) {
    return &stamps[1];
}

int bare_drain(struct CUstream_st* stream) {
    const struct timespec briefly = {0, 50000};
    for (int i = 0; stamps[1] == 0 && i < 200000; ++i)
        nanosleep(&briefly, NULL);
    return synchronize(stream);
}
