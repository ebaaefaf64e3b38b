// SPDX-License-Identifier: Apache-2.0
// Entry points about devices: what the embedded ones look like.
#include <strings.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "embedded/engine/driver.hpp"
#include "embedded/engine/limits.hpp"
#include "embedded/entries/calls.hpp"

namespace hostlaunch::embedded {

namespace {

struct attribute_value {
    int attribute;
    int value;
};

// CUdevice_attribute; those in range and not listed are 0.
constexpr attribute_value attributes[] = {
    {1, 1024},        // MAX_THREADS_PER_BLOCK
    {10, 32},         // WARP_SIZE
    {13, 1'000'000},  // CLOCK_RATE
    {16, 1},          // MULTIPROCESSOR_COUNT
    {19, 1},          // CAN_MAP_HOST_MEMORY
    {31, 1},          // CONCURRENT_KERNELS
    {40, 1},          // ASYNC_ENGINE_COUNT
    {41, 1},          // UNIFIED_ADDRESSING
    {75, 9},          // COMPUTE_CAPABILITY_MAJOR
    {78, 1},          // STREAM_PRIORITIES_SUPPORTED
    {83, 1},          // MANAGED_MEMORY
    {88, 1},          // PAGEABLE_MEMORY_ACCESS
    {89, 1},          // CONCURRENT_MANAGED_ACCESS
    {91, 1},          // CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM
    {99, 1},          // HOST_REGISTER_SUPPORTED
    {101, 1},         // DIRECT_MANAGED_MEM_ACCESS_FROM_HOST
    {115, 1},         // MEMORY_POOLS_SUPPORTED
    {122, 1},         // CAN_USE_64_BIT_STREAM_MEM_OPS
    {123, 1},         // CAN_USE_STREAM_WAIT_VALUE_NOR
    {142, 1},         // HOST_NUMA_MEMORY_POOLS_SUPPORTED
    {144, 1},         // HOST_MEMORY_POOLS_SUPPORTED
};
constexpr int attribute_end = 147;  // CU_DEVICE_ATTRIBUTE_MAX of CUDA 13.0

bool is_device(device dev) {
    return dev >= 0 && static_cast<std::size_t>(dev) < the_driver().devices.size();
}

// `body` with a device that exists and a place for the answer.
template <class Out, class Body>
result about_device(Out* out, device dev, Body body) {
    if (out == nullptr) {
        return error_invalid_value;
    }
    if (!is_device(dev)) {
        return error_invalid_device;
    }
    return body();
}

result write_uuid(void* out, device dev) {
    return about_device(static_cast<unsigned char*>(out), dev, [&] {
        unsigned char uuid[16] = {'h', 'o', 's', 't', 'l', 'a', 'u', 'n', 'c', 'h'};
        uuid[15] = static_cast<unsigned char>(dev);
        std::memcpy(out, uuid, sizeof uuid);
        return success;
    });
}

result read_attribute(int* value, int attribute) {
    if (attribute < 1 || attribute >= attribute_end) {
        return error_invalid_value;
    }
    *value = 0;
    for (const attribute_value& a : attributes) {
        *value = a.attribute == attribute ? a.value : *value;
    }
    return success;
}

// Bus 1, one slot a device: there is nothing behind it.
std::string bus_id_of(device dev) {
    char id[sizeof("0000:01:00.0")];
    std::snprintf(id, sizeof id, "0000:01:%02x.0", static_cast<unsigned>(dev) & 0xffu);
    return id;
}

}  // namespace

namespace calls {

result cuDeviceGetCount(int* count) {
    if (count == nullptr) {
        return error_invalid_value;
    }
    *count = static_cast<int>(the_driver().devices.size());
    return success;
}

result cuDeviceGet(device* out, int ordinal) {
    return about_device(out, ordinal, [&] {
        *out = ordinal;
        return success;
    });
}

result cuDeviceGetName(char* name, int length, device dev) {
    return about_device(name, dev, [&] {
        if (length <= 0) {
            return error_invalid_value;
        }
        std::snprintf(name, static_cast<std::size_t>(length), "hostlaunch embedded device");
        return success;
    });
}

result cuDeviceGetAttribute(int* value, int attribute, device dev) {
    return about_device(value, dev, [&] { return read_attribute(value, attribute); });
}

result cuDeviceGetUuid(void* uuid, device dev) {
    return write_uuid(uuid, dev);
}

result cuDeviceGetUuid_v2(void* uuid, device dev) {
    return write_uuid(uuid, dev);
}

result cuDeviceTotalMem_v2(std::size_t* bytes, device dev) {
    return about_device(bytes, dev, [&] {
        *bytes = device_memory_bytes;
        return success;
    });
}

result cuDeviceComputeCapability(int* major, int* minor, device dev) {
    return about_device(major, dev, [&] {
        if (minor == nullptr) {
            return error_invalid_value;
        }
        read_attribute(minor, 76);
        return read_attribute(major, 75);
    });
}

result cuDeviceGetPCIBusId(char* id, int length, device dev) {
    return about_device(id, dev, [&] {
        const std::string known = bus_id_of(dev);
        if (length <= static_cast<int>(known.size())) {
            return error_invalid_value;
        }
        std::memcpy(id, known.c_str(), known.size() + 1);
        return success;
    });
}

// With its domain or without.
result cuDeviceGetByPCIBusId(device* out, const char* id) {
    if (out == nullptr || id == nullptr) {
        return error_invalid_value;
    }
    for (device dev = 0; is_device(dev); ++dev) {
        const std::string known = bus_id_of(dev);
        constexpr std::size_t domain = sizeof("0000:") - 1;
        if (strcasecmp(id, known.c_str()) == 0 || strcasecmp(id, known.c_str() + domain) == 0) {
            *out = dev;
            return success;
        }
    }
    return error_invalid_device;
}

}  // namespace calls

}  // namespace hostlaunch::embedded
