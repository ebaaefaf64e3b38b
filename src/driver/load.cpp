// SPDX-License-Identifier: Apache-2.0
// Opens a driver library by name, resolves every entry through cuGetProcAddress and calls cuInit.
#include "driver/load.hpp"

#include <dlfcn.h>
#include <link.h>
#include <locale.h>

#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "driver/place.hpp"
#include "driver/settings.hpp"
#include "hostlaunch/error.hpp"

namespace hostlaunch::driver_library {
namespace {

constexpr const char* cuda_file = "libcuda.so.1";

// Stands in for an entry that the library does not have, so that no call is ever a null call.
template <class... Args>
result missing(Args...) {
    return abi::error_not_supported;
}

template <class... Args>
void set_missing(result (*&field)(Args...)) {
    field = &missing<Args...>;
}

template <class Function>
void set_found(Function& field, void* address) {
    static_assert(sizeof(Function) == sizeof(void*));
    std::memcpy(&field, &address, sizeof address);
}

attempt failure(result code, std::string reason) {
    return {attempt::outcome::failed, code, std::move(reason)};
}

attempt unusable(std::string reason) {
    return failure(static_cast<int>(misuse::driver_unavailable), std::move(reason));
}

// By an absolute path, which means the same file after a change of the folder too.
std::string path_of(void* handle, const std::string& name) {
    link_map* map = nullptr;
    const bool found = dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 &&
                       map != nullptr && map->l_name != nullptr && map->l_name[0] != '\0';
    const std::string path = found ? map->l_name : name;
    std::error_code failed;
    const std::filesystem::path whole = std::filesystem::absolute(path, failed);
    return failed || path.find('/') == std::string::npos ? path : whole.string();
}

// The name of a required entry that the library lacks, or null.
const char* resolve(abi::get_proc_address_fn get, table& fn) {
    const char* lacking = nullptr;
#define HOSTLAUNCH_DRIVER_ENTRY(field, name, version, need, params)      \
    {                                                                    \
        constexpr bool required = std::string_view(#need) == "required"; \
        void* address = nullptr;                                         \
        const result code = get(#name, &address, version, 0, nullptr);   \
        if (code == abi::success && address != nullptr) {                \
            set_found(fn.field, address);                                \
        } else {                                                         \
            set_missing(fn.field);                                       \
            if (required && lacking == nullptr) lacking = #name;         \
        }                                                                \
    }
#include "driver/entries.def"
#undef HOSTLAUNCH_DRIVER_ENTRY
    return lacking;
}

attempt stub_library(const std::string& path) {
    return failure(abi::error_stub_library,
                   path +
                       " is the CUDA toolkit's stub library, made for linking only; take its "
                       "folder off the library path so that the NVIDIA driver's libcuda.so.1 "
                       "is found");
}

// What the loader said last, in English whatever the locale, so that it can be told apart.
std::string loader_text() {
    const locale_t english = newlocale(LC_ALL_MASK, "C", nullptr);
    const locale_t former = english != nullptr ? uselocale(english) : nullptr;
    const char* text = dlerror();
    std::string said = text != nullptr ? text : "dlopen failed";
    if (english != nullptr) {
        uselocale(former);
        freelocale(english);
    }
    return said;
}

attempt initialise(library& out) {
    const result code = out.fn.init(0);
    if (code == abi::error_stub_library) return stub_library(out.path);
    int count = 0;
    const int counted = code == abi::success ? out.fn.device_get_count(&count) : code;
    if (code == abi::success && counted != abi::success) {
        return failure(counted,
                       "cuDeviceGetCount of " + out.path + " returned " + std::to_string(counted));
    }
    if (code == abi::error_no_device || (code == abi::success && count == 0)) {
        return {attempt::outcome::no_device, abi::error_no_device,
                out.path + " finds no CUDA device"};
    }
    if (code != abi::success) {
        const char* name = nullptr;
        if (out.fn.get_error_name(code, &name) != abi::success || name == nullptr)
            name = "an error";
        return failure(code, "cuInit of " + out.path + " returned " + name + " (" +
                                 std::to_string(code) + ")");
    }
    out.fn.driver_get_version(&out.version);
    return {attempt::outcome::ready, abi::success, {}};
}

}  // namespace

attempt open_library(const std::string& name, library& out) {
    dlerror();
    // RTLD_NODELETE: driver threads outlive every owner of a handle.
    void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == nullptr) {
        const std::string why = loader_text();
        // The loader names the file that it could not find: ours, or one that ours needs.
        if (why.starts_with(name + ": cannot open shared object file: No such file")) {
            return {attempt::outcome::absent, static_cast<int>(misuse::driver_unavailable),
                    "there is no library " + name};
        }
        return unusable("loading " + name + " failed: " + why);
    }
    out.path = path_of(handle, name);
    out.which = dlsym(handle, "hostlaunch_embedded_reset") != nullptr ? kind::embedded : kind::cuda;

    abi::get_proc_address_fn get = nullptr;
    set_found(get, dlsym(handle, "cuGetProcAddress_v2"));
    if (get == nullptr) {
        return unusable(out.path +
                        " has no cuGetProcAddress_v2: a driver of CUDA 12.0 or later is needed");
    }
    void* probe = nullptr;
    if (get("cuInit", &probe, 2000, 0, nullptr) == abi::error_stub_library) {
        return stub_library(out.path);
    }
    if (const char* lacking = resolve(get, out.fn)) {
        return unusable(out.path + " lacks " + lacking);
    }
    return initialise(out);
}

attempt open_cuda_library(library& out) {
    attempt found = open_library(cuda_file, out);
    if (found.how != attempt::outcome::absent) return found;
    // The loader looks along the run path of whoever calls it, which need not be us.
    for (const std::string& folder : own_run_path()) {
        const std::string file = folder + "/" + cuda_file;
        if (may_read(file)) return open_library(file, out);
    }
    return found;
}

attempt open_embedded_library(library& out) {
    std::string looked;
    for (const std::string& place : embedded_library_places()) {
        if (may_read(place)) return open_library(place, out);
        looked += (looked.empty() ? " at " : ", ") + place;
    }
    if (settings::is_privileged())
        looked += " (nor beside the program, since it has more rights than its caller)";
    return {attempt::outcome::absent, static_cast<int>(misuse::driver_unavailable),
            "there is no libhostlaunch_embedded.so" + looked};
}

}  // namespace hostlaunch::driver_library
