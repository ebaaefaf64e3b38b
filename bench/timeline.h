// SPDX-License-Identifier: Apache-2.0
// A stream of the benchmark's own, an empty kernel, and times on the GPU's own clock, from C.
//
// The embedded driver runs no kernels: a small memset stands for one there. Used by one measuring
// thread. Functions that launch return a CUresult. requires: bare_load succeeded.
#ifndef HOSTLAUNCH_BENCH_TIMELINE_H
#define HOSTLAUNCH_BENCH_TIMELINE_H

#include "bare.h"

#ifdef __cplusplus
extern "C" {
#endif

// Makes the primary context of device 0 current and a non-blocking stream in it.
int bare_open(struct CUstream_st** out);

// Loads the kernel and runs it once, so that no lazy load is left for later. Requires a context.
int bare_load_kernel(struct CUstream_st* stream);
int bare_kernel(struct CUstream_st* stream);

// Pairs of the kernel and a C function.
int bare_pairs(struct CUstream_st* stream, int pairs);

// Records the first or second event; the microseconds between them once both have completed.
int bare_mark(struct CUstream_st* stream, int which);
double bare_marked(void);

#ifdef __cplusplus
}
#endif

#endif
