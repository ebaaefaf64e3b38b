// SPDX-License-Identifier: Apache-2.0
// A source of its own, since its headers need the CUDA toolkit's.
#include "cccl.hpp"

#ifdef HOSTLAUNCH_BENCH_CCCL
#include <dlfcn.h>

#include <cuda/launch>
#include <cuda/stream>

#include "bare.h"
#endif

namespace hostlaunch::bench {

#ifdef HOSTLAUNCH_BENCH_CCCL

// CCCL loads libcuda.so.1 itself, which need not be the driver in use.
const char* cccl_status() {
    void* theirs = dlopen("libcuda.so.1", RTLD_NOW);
    const char* entry = "cuLaunchHostFunc";
    const bool same = theirs != nullptr && dlsym(theirs, entry) == bare_symbol(entry);
    return same ? nullptr : "absent (needs the NVIDIA driver)";
}

void launch_with_cccl(CUstream_st* stream, std::size_t* count) {
    cuda::host_launch(cuda::stream_ref(stream), [count] { ++*count; });
}

#else

const char* cccl_status() {
    return "absent (the build found no CCCL that has it)";
}

void launch_with_cccl(CUstream_st*, std::size_t*) {}

#endif

}  // namespace hostlaunch::bench
