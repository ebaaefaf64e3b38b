// SPDX-License-Identifier: Apache-2.0
// A driver library that cannot be used: cuInit answers what FAKE_CUINIT says. With the descriptors
// FAKE_STARTED and FAKE_GO it writes to one and reads from the other before.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

int cuInit(unsigned flags) {
    const char* wanted = getenv("FAKE_CUINIT");
    const char* started = getenv("FAKE_STARTED");
    char byte = 0;
    (void)flags;
    if (started != NULL) { /* say so, and wait for a byte */
        if (write(atoi(started), &byte, 1) != 1 || read(atoi(getenv("FAKE_GO")), &byte, 1) != 1) {
            return 999;
        }
    }
    return wanted != NULL ? atoi(wanted) : 999;
}

static int answer(void) {
    return cuInit(0);
}

int cuGetErrorName(int code, const char** name) {
    *name = code == 100 ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_UNKNOWN";
    return 0;
}

int cuGetProcAddress_v2(const char* symbol, void** function, int version, uint64_t flags,
                        void* status) {
    (void)version;
    (void)flags;
    (void)status;
    if (strcmp(symbol, "cuInit") == 0) {
        *function = (void*)cuInit;
    } else if (strcmp(symbol, "cuGetErrorName") == 0) {
        *function = (void*)cuGetErrorName;
    } else {
        *function = (void*)answer;
    }
    return 0;
}

#ifdef __cplusplus
}
#endif
