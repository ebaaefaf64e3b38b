// SPDX-License-Identifier: Apache-2.0
// Entry points that need no device: initialisation, version, error names, cuGetProcAddress.
#include <cstring>

#include "embedded/engine/process.hpp"
#include "embedded/entries/calls.hpp"
#include "embedded/entry_points.hpp"

namespace hostlaunch::embedded {

namespace {

constexpr int driver_version = 13000;

struct entry_description {
    const char* symbol;
    const char* base;
    int version;  // the first CUDA version with this ABI
    void* function;
};

const entry_description entries[] = {
#define HOSTLAUNCH_EMBEDDED_ENTRY(symbol, base, version, traits, parameters, arguments) \
    {#symbol, #base, version, reinterpret_cast<void*>(&embedded::symbol)},
#include "embedded/entry_list.def"
#undef HOSTLAUNCH_EMBEDDED_ENTRY
};

struct error_text {
    result code;
    const char* name;
    const char* text;
};

constexpr error_text errors[] = {
#define HL_ERROR(code, name, text) {code, #name, text},
#include "embedded/entries/error_names.def"
#undef HL_ERROR
};

result look_up(result error, const char** out, const char* error_text::* member) {
    if (out == nullptr) {
        return error_invalid_value;
    }
    *out = nullptr;
    for (const error_text& e : errors) {
        if (e.code == error) {
            *out = e.*member;
            return success;
        }
    }
    return error_invalid_value;
}

// A base name gives its newest ABI at or before `version`; an exported symbol gives itself.
proc_address_result find_function(const char* symbol, int version, void** function) {
    bool known = false;
    for (const entry_description& e : entries) {
        const bool is_base = std::strcmp(e.base, symbol) == 0;
        const bool is_symbol = std::strcmp(e.symbol, symbol) == 0;
        if (!is_base && !is_symbol) {
            continue;
        }
        known = true;
        if (e.version <= version) {
            *function = e.function;
        }
        if (!is_base) {
            break;
        }
    }
    if (*function != nullptr) {
        return proc_address_result::found;
    }
    return known ? proc_address_result::version_not_sufficient : proc_address_result::not_found;
}

result get_proc_address(const char* symbol, void** function, int version, std::uint64_t flags,
                        proc_address_result* status) {
    constexpr std::uint64_t per_thread_default_stream = 2;  // falls back: there are no twins here
    if (symbol == nullptr || function == nullptr || version > driver_version ||
        flags > per_thread_default_stream) {
        return error_invalid_value;
    }
    *function = nullptr;
    const proc_address_result found = find_function(symbol, version, function);
    if (status != nullptr) {
        *status = found;
    }
    return success;
}

}  // namespace

namespace calls {

result cuInit(unsigned flags) {
    return initialize(flags);
}

result cuDriverGetVersion(int* version) {
    if (version == nullptr) {
        return error_invalid_value;
    }
    *version = driver_version;
    return success;
}

result cuGetErrorName(result error, const char** name) {
    return look_up(error, name, &error_text::name);
}

result cuGetErrorString(result error, const char** text) {
    return look_up(error, text, &error_text::text);
}

result cuGetProcAddress(const char* symbol, void** function, int version, std::uint64_t flags) {
    return get_proc_address(symbol, function, version, flags, nullptr);
}

result cuGetProcAddress_v2(const char* symbol, void** function, int version, std::uint64_t flags,
                           proc_address_result* status) {
    return get_proc_address(symbol, function, version, flags, status);
}

}  // namespace calls

}  // namespace hostlaunch::embedded
