// SPDX-License-Identifier: Apache-2.0
// The baseline of every figure: the driver called from C, and host functions that gate and time.
//
// One gate and one pair of stamps for the process, used by one measuring thread. Functions that
// launch return a CUresult. Part of the C++ benchmark, and a library of its own for the Python one.
#ifndef HOSTLAUNCH_BENCH_BARE_H
#define HOSTLAUNCH_BENCH_BARE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;
typedef void (*bare_host_fn)(void* user_data);

// Finds the entry points in the driver library at `path`, which is loaded already. 0, or 1.
int bare_load(const char* path);

// A symbol of that library, or null: for the knobs of the embedded driver.
void* bare_symbol(const char* name);

int bare_device_name(char* out, int room);

// Nanoseconds of the monotonic clock.
int64_t bare_now(void);

int bare_launch(struct CUstream_st* stream, bare_host_fn fn, void* user_data);
// The same, with cuStreamIsCapturing asked before: -1 if the stream captures.
int bare_launch_checked(struct CUstream_st* stream, bare_host_fn fn, void* user_data);
int bare_synchronize(struct CUstream_st* stream);

// cuStreamAddCallback; the callback has the signature of CUstreamCallback.
typedef void (*bare_stream_callback)(struct CUstream_st* stream, int status, void* user_data);
int bare_add_callback(struct CUstream_st* stream, bare_stream_callback fn, void* user_data);

// Enqueues a function that does nothing `calls` times, with cuStreamIsCapturing asked before each
// if `checked`. The nanoseconds that it took in all, or -1 if a call failed.
int64_t bare_enqueue(struct CUstream_st* stream, int calls, int checked);

// The same with a sync after each launch. The time of each trip goes to out[0..trips).
int bare_round_trips(struct CUstream_st* stream, int trips, int64_t* out);

void bare_nothing(void* user_data);

// Blocks the stream behind a host function that waits for bare_open_gate, and returns once it runs.
int bare_block(struct CUstream_st* stream);
void bare_open_gate(void);

// Enqueues a host function that sleeps for 2.5 ms.
int bare_pause(struct CUstream_st* stream);

// Enqueues a host function that reads the clock into stamp 0 or 1.
int bare_stamp(struct CUstream_st* stream, int which);

// Nanoseconds between the two stamps.
int64_t bare_stamped(void);

// Waits for a stream asleep until stamp 1 is there, for 10 s at the longest: cuStreamSynchronize
// spins, which slows down the thread that runs the functions if they share a core.
int bare_drain(struct CUstream_st* stream);

// Where stamp 1 is written: 0 from its enqueuing until its function has run.
volatile int64_t* bare_second_stamp(void);

#ifdef __cplusplus
}
#endif

#endif
