// SPDX-License-Identifier: Apache-2.0
// Kernels and events through the driver's exported symbols.
#include "timeline.h"

#include <stddef.h>
#include <stdint.h>

static const char ptx[] =
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry nothing() { ret; }\n";

static void* kernel;      // null where a memset stands for it
static uint64_t scratch;  // of that memset
static void* marks[2];

int bare_open(struct CUstream_st** out) {
    int (*init)(unsigned) = NULL;
    int (*retain)(void**, int) = NULL;
    int (*set_current)(void*) = NULL;
    int (*create)(struct CUstream_st**, unsigned) = NULL;
    *(void**)&init = bare_symbol("cuInit");
    *(void**)&retain = bare_symbol("cuDevicePrimaryCtxRetain");
    *(void**)&set_current = bare_symbol("cuCtxSetCurrent");
    *(void**)&create = bare_symbol("cuStreamCreate");
    if (init == NULL || retain == NULL || set_current == NULL || create == NULL) return -1;
    void* context = NULL;
    int code = init(0);
    if (code == 0) code = retain(&context, 0);
    if (code == 0) code = set_current(context);
    return code != 0 ? code : create(out, 1);
}

// A driver that runs no kernels lacks the calls or says that it does not support them.
static int load_module(void) {
    const int not_supported = 801;
    int (*load)(void**, const void*) = NULL;
    int (*get_function)(void**, void*, const char*) = NULL;
    *(void**)&load = bare_symbol("cuModuleLoadData");
    *(void**)&get_function = bare_symbol("cuModuleGetFunction");
    if (load == NULL || get_function == NULL) return 0;
    void* module = NULL;
    const int code = load(&module, ptx);
    if (code == not_supported) return 0;
    return code != 0 ? code : get_function(&kernel, module, "nothing");
}

int bare_load_kernel(struct CUstream_st* stream) {
    int (*create_event)(void**, unsigned) = NULL;
    int (*allocate)(uint64_t*, size_t) = NULL;
    *(void**)&create_event = bare_symbol("cuEventCreate");
    *(void**)&allocate = bare_symbol("cuMemAlloc_v2");
    if (create_event == NULL || allocate == NULL) return -1;
    int code = load_module();
    if (code == 0 && kernel == NULL) code = allocate(&scratch, 64);
    for (int i = 0; code == 0 && i < 2; ++i)
        code = create_event(&marks[i], 0);
    if (code == 0) code = bare_kernel(stream);
    return code != 0 ? code : bare_synchronize(stream);
}

int bare_kernel(struct CUstream_st* stream) {
    static int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                         unsigned, struct CUstream_st*, void**, void**);
    static int (*set_memory)(uint64_t, unsigned char, size_t, struct CUstream_st*);
    if (kernel == NULL) {
        if (set_memory == NULL) *(void**)&set_memory = bare_symbol("cuMemsetD8Async");
        return set_memory(scratch, 0, 64, stream);
    }
    if (launch == NULL) *(void**)&launch = bare_symbol("cuLaunchKernel");
    return launch(kernel, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
}

int bare_pairs(struct CUstream_st* stream, int pairs) {
    for (int i = 0; i < pairs; ++i) {
        int code = bare_kernel(stream);
        if (code == 0) code = bare_launch(stream, bare_nothing, NULL);
        if (code != 0) return code;
    }
    return 0;
}

int bare_mark(struct CUstream_st* stream, int which) {
    static int (*record)(void*, struct CUstream_st*);
    if (record == NULL) *(void**)&record = bare_symbol("cuEventRecord");
    return record(marks[which], stream);
}

double bare_marked(void) {
    int (*elapsed)(float*, void*, void*) = NULL;
    *(void**)&elapsed = bare_symbol("cuEventElapsedTime");
    float milliseconds = -1;
    if (elapsed == NULL || elapsed(&milliseconds, marks[0], marks[1]) != 0) return -1;
    return (double)milliseconds * 1000;
}
