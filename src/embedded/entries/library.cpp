// SPDX-License-Identifier: Apache-2.0
// Entry points that need no device: initialisation, version, error names.
#include "embedded/engine/limits.hpp"
#include "embedded/engine/process.hpp"
#include "embedded/entries/calls.hpp"

namespace hostlaunch::embedded {

namespace {

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

}  // namespace calls

}  // namespace hostlaunch::embedded
