// SPDX-License-Identifier: Apache-2.0
// Events from C: what a future is held against. Beside bare.c, which loads the driver first.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>

struct CUstream_st;
struct CUevent_st;

extern void* bare_symbol(const char* name);
extern int64_t bare_now(void);

static int (*create)(struct CUevent_st**, unsigned);
static int (*destroy)(struct CUevent_st*);
static int (*record)(struct CUevent_st*, struct CUstream_st*);
static int (*query)(struct CUevent_st*);

static struct CUevent_st** made;
static int count;

int events_load(void) {
    *(void**)&create = bare_symbol("cuEventCreate");
    *(void**)&destroy = bare_symbol("cuEventDestroy_v2");
    *(void**)&record = bare_symbol("cuEventRecord");
    *(void**)&query = bare_symbol("cuEventQuery");
    return create == NULL || destroy == NULL || record == NULL || query == NULL;
}

static int make(struct CUstream_st* stream) {
    const unsigned without_timing = 2;
    const int code = create(&made[count], without_timing);
    return code != 0 ? code : record(made[count++], stream);
}

// Makes and records events; the nanoseconds that it took, or -1. Forgotten by events_forget.
int64_t events_enqueue(struct CUstream_st* stream, int events) {
    made = malloc(sizeof *made * (size_t)events);
    count = 0;
    const int64_t begin = bare_now();
    for (int i = 0; i < events; ++i) {
        if (make(stream) != 0) return -1;
    }
    return bare_now() - begin;
}

void events_forget(void) {
    while (count > 0)
        destroy(made[--count]);
    free(made);
    made = NULL;
}

// From the record of an event on an idle stream until a thread that asks without a pause knows of
// its completion, nanoseconds; -1 on failure.
int64_t events_round_trip(struct CUstream_st* stream) {
    struct CUevent_st* event = NULL;
    const int64_t begin = bare_now();
    if (create(&event, 2) != 0 || record(event, stream) != 0) return -1;
    int code = 600;  // CUDA_ERROR_NOT_READY
    while (code == 600)
        code = query(event);
    const int64_t end = bare_now();
    destroy(event);
    return code == 0 ? end - begin : -1;
}
