// SPDX-License-Identifier: Apache-2.0
// cuGetProcAddress: from a name and a version to an exported function.
#include <cstring>

#include "embedded/engine/limits.hpp"
#include "embedded/entries/calls.hpp"
#include "embedded/entry_points.hpp"

namespace hostlaunch::embedded {

extern "C" {
#define HL_U(symbol) result symbol();
#include "embedded/entries/unbuilt.def"
#undef HL_U
}

namespace {

struct entry_description {
    const char* symbol;
    const char* base;
    int version;  // the first CUDA version with this ABI
    void* function;
};

struct unbuilt_description {
    const char* symbol;
    void* function;
};

const entry_description entries[] = {
#define HOSTLAUNCH_EMBEDDED_ENTRY(symbol, base, version, traits, parameters, arguments) \
    {#symbol, #base, version, reinterpret_cast<void*>(&embedded::symbol)},
#include "embedded/entry_list.def"
#undef HOSTLAUNCH_EMBEDDED_ENTRY
};

const unbuilt_description unbuilt[] = {
#define HL_U(symbol) {#symbol, reinterpret_cast<void*>(&embedded::symbol)},
#include "embedded/entries/unbuilt.def"
#undef HL_U
};

result too_new() {
    return error_not_supported;
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
    for (const unbuilt_description& u : unbuilt) {
        if (std::strcmp(u.symbol, symbol) == 0) {
            *function = u.function;
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
    if (symbol == nullptr || function == nullptr || flags > per_thread_default_stream) {
        return error_invalid_value;
    }
    if (version > driver_version) {
        // As measured. Some callers do not look at the answer, so there is something to call.
        *function = reinterpret_cast<void*>(&too_new);
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

result cuGetProcAddress(const char* symbol, void** function, int version, std::uint64_t flags) {
    return get_proc_address(symbol, function, version, flags, nullptr);
}

result cuGetProcAddress_v2(const char* symbol, void** function, int version, std::uint64_t flags,
                           proc_address_result* status) {
    return get_proc_address(symbol, function, version, flags, status);
}

}  // namespace calls

}  // namespace hostlaunch::embedded
