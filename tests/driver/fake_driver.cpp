// SPDX-License-Identifier: Apache-2.0
// Tiny libraries that pass for a CUDA driver, each broken in the way that FAKE_DRIVER names.
//
// Every entry is found and answers SUCCESS, but for what the kinds below change.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "driver/abi.hpp"

namespace {

using namespace hostlaunch;

enum kind { stub, no_device, no_devices, broken, old, lacking, slow, working, dependent };

int answer_success() {
    return abi::success;
}
int answer_stub() {
    return abi::error_stub_library;
}
int answer_no_device() {
    return abi::error_no_device;
}
int answer_unknown() {
    return abi::error_unknown;
}

// Says that it has begun, through the pipe of FAKE_STARTED, and waits for a byte from FAKE_GO.
int answer_slowly() {
    char byte = 0;
    const bool went = write(std::atoi(std::getenv("FAKE_STARTED")), &byte, 1) == 1 &&
                      read(std::atoi(std::getenv("FAKE_GO")), &byte, 1) == 1;
    return went ? abi::success : abi::error_unknown;
}

int count_devices(int* count) {
    *count = FAKE_DRIVER == no_devices ? 0 : 1;
    return abi::success;
}
int get_version(int* version) {
    *version = 12345;
    return abi::success;
}
int get_error_name(int code, const char** name) {
    *name = code == abi::error_unknown ? "CUDA_ERROR_UNKNOWN" : nullptr;
    return *name == nullptr ? abi::error_invalid_value : abi::success;
}

template <class Function>
void* address(Function* f) {
    return reinterpret_cast<void*>(f);
}

void* find_init() {
    switch (FAKE_DRIVER) {
        case stub:
            return address(&answer_stub);
        case no_device:
            return address(&answer_no_device);
        case broken:
            return address(&answer_unknown);
        case slow:
            return address(&answer_slowly);
        default:
            return address(&answer_success);
    }
}

void* find(const char* symbol) {
    if (FAKE_DRIVER == lacking && std::strcmp(symbol, "cuLaunchHostFunc") == 0) return nullptr;
    if (std::strcmp(symbol, "cuInit") == 0) return find_init();
    if (std::strcmp(symbol, "cuDeviceGetCount") == 0) return address(&count_devices);
    if (std::strcmp(symbol, "cuDriverGetVersion") == 0) return address(&get_version);
    if (std::strcmp(symbol, "cuGetErrorName") == 0) return address(&get_error_name);
    return address(&answer_success);
}

int get_proc_address(const char* symbol, void** function, abi::proc_address_result* status) {
    if (FAKE_DRIVER == stub) return abi::error_stub_library;
    *function = find(symbol);
    const bool found = *function != nullptr;
    if (status != nullptr) {
        *status = found ? abi::proc_address_result::found : abi::proc_address_result::not_found;
    }
    return found ? abi::success : abi::error_not_found;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int cuInit(unsigned) {
    return reinterpret_cast<int (*)()>(find_init())();
}

#ifndef FAKE_DRIVER_IS_OLD
EXPORT int cuGetProcAddress_v2(const char* symbol, void** function, int, std::uint64_t,
                               abi::proc_address_result* status) {
    return get_proc_address(symbol, function, status);
}
#endif
EXPORT int cuGetProcAddress(const char* symbol, void** function, int, std::uint64_t) {
    return get_proc_address(symbol, function, nullptr);
}
